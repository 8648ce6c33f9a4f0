package main

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"bailiff/bench/figures"
)

// A series is one bar for each label of a chart.
type series struct {
	name   string
	colour color.RGBA
	values []float64
}

var (
	blue  = color.RGBA{R: 0x09, G: 0x69, B: 0xda, A: 0xff}
	amber = color.RGBA{R: 0xbf, G: 0x87, A: 0xff}
)

// plots draws the pictures of the page, by the names of their files.
func (r *results) plots() (map[string][]byte, error) {
	pictures := map[string][]byte{}
	for _, tls := range []bool{false, true} {
		rows, file, over := r.of(tls), "plain", "plain HTTP"
		if tls {
			file, over = "tls", "TLS"
		}
		labels := each(rows, (*row).label)
		rates := series{"closed loop", blue, each(rows, func(r *row) float64 { return r.median(func(t *turn) float64 { return t.Closed.Rate }) })}
		p50 := series{"p50", blue, each(rows, func(r *row) float64 { return r.open(low, loop.p50) })}
		p99 := series{"p99", amber, each(rows, func(r *row) float64 { return r.open(low, loop.p99) })}
		var err error
		if pictures["throughput-"+file+".svg"], err = draws("answers a second, "+over, labels, rates); err != nil {
			return nil, err
		}
		if pictures["latency-"+file+".svg"], err = draws("milliseconds at low load, "+over, labels, p50, p99); err != nil {
			return nil, err
		}
	}
	return pictures, nil
}

// each is what of takes from each element.
func each[T, V any](list []T, of func(T) V) (values []V) {
	for _, one := range list {
		values = append(values, of(one))
	}
	return values
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

// draws returns bars from the left, a group for each label, in SVG.
func draws(title string, labels []string, bars ...series) ([]byte, error) {
	chart := figures.Chart(title)
	chart.X.Min = 0
	chart.Legend.Top = true
	for i, s := range bars {
		chartBars, err := plotter.NewBarChart(plotter.Values(upwards(s.values)), barHeight)
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
	chart.NominalY(upwards(labels)...)
	return figures.SVG(chart, plotWidth, margins+rowHeight*vg.Length(len(labels)))
}

// upwards are values in the order of an axis that begins below.
func upwards[T any](values []T) []T {
	values = slices.Clone(values)
	slices.Reverse(values)
	return values
}
