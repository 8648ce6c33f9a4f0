package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"bailiff/bench/figures"
)

var colours = []color.RGBA{{R: 0x09, G: 0x69, B: 0xda, A: 0xff}, {R: 0xbf, G: 0x87, A: 0xff}, {R: 0x82, G: 0x50, B: 0xdf, A: 0xff}, {R: 0x1a, G: 0x7f, B: 0x37, A: 0xff}}

// plots draws the pictures of the page, by the names of their files: one that is measured, with the model's lines, and one that is simulated.
func (g *growth) plots(points [][]outcome) (map[string][]byte, error) {
	measured := chartOf("measured (points) and the model (lines): processor time a decision, µs", counts)
	for i, q := range []question{denied, allowed} {
		c := g.costsOf(q)
		for j, part := range []struct {
			name string
			of   func(reading) float64
		}{{"owner", ownerOf}, {"all others", othersOf}} {
			var seen, line plotter.XYs
			for _, n := range counts {
				owner, others := c.predicted(n)
				seen = append(seen, plotter.XY{X: float64(n), Y: g.of(q, n, false, part.of).Median})
				line = append(line, plotter.XY{X: float64(n), Y: []float64{owner, others}[j]})
			}
			if err := add(measured, q.name+", "+part.name, colours[2*i+j], seen, line); err != nil {
				return nil, err
			}
		}
	}
	simulated := chartOf(fmt.Sprintf("simulated, not measured: decisions a second, machines of %d cores", assumedCores), sizes)
	for i, c := range g.curves() {
		var line plotter.XYs
		for j, n := range sizes {
			line = append(line, plotter.XY{X: float64(n), Y: points[i][j].rate})
		}
		if err := add(simulated, c.name, colours[i], nil, line); err != nil {
			return nil, err
		}
	}
	pictures := map[string][]byte{}
	for name, chart := range map[string]*plot.Plot{"growth-measured.svg": measured, "growth-simulated.svg": simulated} {
		text, err := figures.SVG(chart, 24*vg.Centimeter, 12*vg.Centimeter)
		if err != nil {
			return nil, err
		}
		pictures[name] = text
	}
	return pictures, nil
}

// chartOf is a chart by the number of instances, each of which has as much room as its double.
func chartOf(title string, instances []int) *plot.Plot {
	chart := figures.Chart(title)
	chart.X.Label.Text = "instances"
	chart.X.Scale, chart.Y.Min = plot.LogScale{}, 0
	var ticks plot.ConstantTicks
	for _, n := range instances {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: fmt.Sprint(n)})
	}
	chart.X.Tick.Marker = ticks
	chart.Legend.Top, chart.Legend.Left = true, true
	return chart
}

// add adds measured points, if there are any, and a line.
func add(chart *plot.Plot, name string, colour color.RGBA, points, line plotter.XYs) error {
	drawn, err := plotter.NewLine(line)
	if err != nil {
		return err
	}
	drawn.Color, drawn.Width = colour, vg.Points(1.5)
	chart.Add(drawn)
	chart.Legend.Add(name, drawn)
	if points == nil {
		return nil
	}
	marks, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	marks.Color = colour
	chart.Add(marks)
	return nil
}

// plot draws the picture of the page: what is simulated.
func (g *shared) plot(points [][]outcome) ([]byte, error) {
	chart := chartOf(fmt.Sprintf("simulated, not measured: decisions a second of instances that share slots, machines of %d cores", assumedCores), sizes)
	chart.Y.Scale, chart.Y.Tick.Marker, chart.Y.Min = plot.LogScale{}, plot.LogTicks{}, 1e4
	for i, q := range []question{denied, allowed} {
		var line plotter.XYs
		for j, n := range sizes {
			line = append(line, plotter.XY{X: float64(n), Y: points[i][j].rate})
		}
		if err := add(chart, q.name, colours[i], nil, line); err != nil {
			return nil, err
		}
	}
	return figures.SVG(chart, 24*vg.Centimeter, 12*vg.Centimeter)
}
