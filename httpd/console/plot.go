package console

import (
	"bytes"
	"context"
	"image/color"
	"net/http"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"bailiff/runtime/events"
	"bailiff/runtime/ledger"
)

// plottedHours is how many hours the overview shows.
const plottedHours = 24

// An hours is how many decisions ended in each way, hour by hour since a time.
type hours struct {
	from   time.Time
	counts [plottedHours][len(plotted)]int32
}

// plotted are the statuses of the plot, from the bottom of each bar to its top.
var plotted = [...]ledger.Decision{ledger.Allowed, ledger.Pending, ledger.Denied, ledger.TestRun}

func hoursOf(counts *events.Counts) (h hours) {
	h.from = counts.From
	for i := range min(len(counts.ByHour), plottedHours) {
		for s, status := range plotted {
			h.counts[i][s] = int32(counts.ByHour[i][status.String()])
		}
	}
	return h
}

// An hourRow is an hour of the table that says what the plot shows.
type hourRow struct {
	From   time.Time
	Counts [len(plotted)]int32
}

// rows are the hours that have decisions, the latest first.
func (h *hours) rows() (list []hourRow) {
	for i := plottedHours - 1; i >= 0; i-- {
		if h.counts[i] != [len(plotted)]int32{} {
			list = append(list, hourRow{h.from.Add(time.Duration(i) * time.Hour), h.counts[i]})
		}
	}
	return list
}

// A palette is what a plot is drawn with. Its colours are those of the style sheet.
type palette struct {
	ink  color.Color
	bars [len(plotted)]color.Color
}

func rgb(hex uint32) color.Color {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}

var (
	lightPalette = palette{rgb(0x1b1f24), [...]color.Color{rgb(0x0f6130), rgb(0xc98a00), rgb(0xa31621), rgb(0x8a93a0)}}
	darkPalette  = palette{rgb(0xe8eaed), [...]color.Color{rgb(0x7fd89b), rgb(0xf0c36d), rgb(0xff9a9a), rgb(0x8a93a0)}}
)

// The size of a plot, which the page scales to its width.
const (
	plotWidth  = 24 * vg.Centimeter
	plotHeight = 6 * vg.Centimeter
	barWidth   = 18
)

// hoursPlot draws the hours that the session's overview has counted last.
func (c *Console) hoursPlot(_ context.Context, v *visit, _ string) *Response {
	shown, ok := c.sessions.shown(v.Token)
	if !ok {
		return c.problem(v, http.StatusNotFound, "There is nothing to draw before the overview was opened.")
	}
	colours := &lightPalette
	if v.Query.Get("scheme") == "dark" {
		colours = &darkPalette
	}
	text, err := shown.draw(colours)
	if err != nil {
		c.Log.Error("a plot of the console could not be drawn", "error", err)
		return c.problem(v, http.StatusInternalServerError, "The plot could not be drawn.")
	}
	return &Response{Status: http.StatusOK, Type: "image/svg+xml", Body: text}
}

// draw returns the hours as stacked bars, in SVG.
func (h *hours) draw(p *palette) ([]byte, error) {
	chart := plot.New()
	chart.BackgroundColor = color.Transparent
	chart.X.Min, chart.X.Max = -0.6, plottedHours-0.4
	chart.Y.Min = 0
	for _, axis := range []*plot.Axis{&chart.X, &chart.Y} {
		axis.Color, axis.Tick.Color, axis.Tick.Label.Color = p.ink, p.ink, p.ink
		axis.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 10}
	}
	chart.X.Tick.Marker = plot.ConstantTicks(h.ticks())
	var below *plotter.BarChart
	for s := range plotted {
		values := make(plotter.Values, plottedHours)
		for i := range values {
			values[i] = float64(h.counts[i][s])
		}
		bars, err := plotter.NewBarChart(values, barWidth)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = p.bars[s], 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		chart.Add(bars)
	}
	chart.Y.Max = max(chart.Y.Max, 1)
	canvas := vgsvg.New(plotWidth, plotHeight)
	chart.Draw(draw.New(canvas))
	var text bytes.Buffer
	_, err := canvas.WriteTo(&text)
	return text.Bytes(), err
}

// ticks name every fourth hour by its time of day.
func (h *hours) ticks() (ticks []plot.Tick) {
	for i := range plottedHours {
		label := ""
		if i%4 == 0 {
			label = h.from.Add(time.Duration(i) * time.Hour).UTC().Format("15:04")
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: label})
	}
	return ticks
}
