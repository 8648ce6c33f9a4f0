package figures

import (
	"bytes"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart returns an empty chart in one font.
func Chart(title string) *plot.Plot {
	chart := plot.New()
	chart.Title.Text = title
	sans := font.Font{Typeface: "Liberation", Variant: "Sans", Size: 10}
	chart.Title.TextStyle.Font, chart.X.Tick.Label.Font, chart.Y.Tick.Label.Font, chart.Legend.TextStyle.Font = sans, sans, sans, sans
	chart.X.Label.TextStyle.Font = sans
	return chart
}

// SVG draws a chart on white ground.
func SVG(chart *plot.Plot, width, height vg.Length) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	chart.Draw(whole)
	var text bytes.Buffer
	_, err := canvas.WriteTo(&text)
	return text.Bytes(), err
}
