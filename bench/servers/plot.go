package main

import (
	"image/color"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"bailiff/bench/figures"
)

// A series is one bar for each row of the results.
type series struct {
	name   string
	colour color.RGBA
	of     func(*row) float64
}

var (
	blue  = color.RGBA{R: 0x09, G: 0x69, B: 0xda, A: 0xff}
	amber = color.RGBA{R: 0xbf, G: 0x87, A: 0xff}
)

// plots draws the pictures of the page, by the names of their files.
func (r *results) plots() (map[string][]byte, error) {
	pictures := map[string][]byte{}
	for name, picture := range map[string]struct {
		title string
		tls   bool
		bars  []series
	}{
		"throughput-plain.svg": {"answers a second, plain HTTP", false, []series{{"closed loop", blue, rateOf}}},
		"throughput-tls.svg":   {"answers a second, TLS", true, []series{{"closed loop", blue, rateOf}}},
		"latency-plain.svg":    {"milliseconds at low load, plain HTTP", false, latencies},
		"latency-tls.svg":      {"milliseconds at low load, TLS", true, latencies},
	} {
		text, err := draws(picture.title, r.of(picture.tls), picture.bars)
		if err != nil {
			return nil, err
		}
		pictures[name] = text
	}
	return pictures, nil
}

func rateOf(r *row) float64 { return r.median(func(t *turn) float64 { return t.Closed.Rate }) }

var latencies = []series{
	{"p50", blue, func(r *row) float64 { return r.open(low, loop.p50) }},
	{"p99", amber, func(r *row) float64 { return r.open(low, loop.p99) }},
}

// of returns the rows of a mode.
func (r *results) of(tls bool) (rows []*row) {
	for _, one := range r.Rows {
		if one.TLS == tls {
			rows = append(rows, one)
		}
	}
	return rows
}

// The sizes of a plot.
const (
	plotWidth = 24 * vg.Centimeter
	rowHeight = 1 * vg.Centimeter
	margins   = 3 * vg.Centimeter
	barHeight = 9
)

// draws returns bars from the left, a group for each row, in SVG.
func draws(title string, rows []*row, bars []series) ([]byte, error) {
	chart := figures.Chart(title)
	chart.X.Min = 0
	chart.Legend.Top = true
	for i, s := range bars {
		values := make(plotter.Values, len(rows))
		for j, one := range rows {
			values[len(rows)-1-j] = s.of(one)
		}
		chartBars, err := plotter.NewBarChart(values, barHeight)
		if err != nil {
			return nil, err
		}
		chartBars.Horizontal, chartBars.Color, chartBars.LineStyle.Width = true, s.colour, 0
		chartBars.Offset = vg.Length(float64(len(bars)-1)/2-float64(i)) * barHeight
		chart.Add(chartBars)
		if len(bars) > 1 {
			chart.Legend.Add(s.name, chartBars)
		}
	}
	labels := make([]string, len(rows))
	for j, one := range rows {
		labels[len(rows)-1-j] = one.label()
	}
	chart.NominalY(labels...)
	return figures.SVG(chart, plotWidth, margins+rowHeight*vg.Length(len(rows)))
}
