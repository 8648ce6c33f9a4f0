package bench

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// The sizes of the picture, in pixels.
const (
	width, height           = 760, 420
	left, right, top, below = 70, 20, 40, 50
)

// nines are the places on the axis: one for each further nine of the share of answers that were as fast.
var nines = []struct {
	label string
	at    float64
}{{"0 %", 0}, {"90 %", 1}, {"99 %", 2}, {"99.9 %", 3}, {"99.99 %", 4}}

const pictureStyle = `text{font:13px system-ui,sans-serif;fill:#1f2328}line{stroke:#d1d9e0}rect{fill:#fff}` +
	`@media(prefers-color-scheme:dark){text{fill:#f0f6fc}line{stroke:#3d444d}rect{fill:#0d1117}}`

var colours = []string{"#0969da", "#cf222e", "#bf8700", "#1a7f37", "#8250df", "#59636e"}

// picture draws the latencies of each kind by the share of answers that were as fast, both on logarithmic axes.
func (r *report) picture() []byte {
	least, most := math.MaxFloat64, 1.0
	for _, m := range r.Kinds {
		if m.Answers > 0 {
			least, most = min(least, float64(max(1, m.latency.Min()))), max(most, float64(m.Max))
		}
	}
	low, high := math.Floor(math.Log10(min(least, most))), math.Ceil(math.Log10(most))
	high = max(high, low+1)
	x := func(nine float64) float64 { return left + nine/nines[len(nines)-1].at*(width-left-right) }
	y := func(microseconds float64) float64 {
		return height - below - (math.Log10(max(microseconds, 1))-low)/(high-low)*(height-top-below)
	}
	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img"><style>%s</style><rect width="%d" height="%d"/>`+"\n", width, height, pictureStyle, width, height)
	fmt.Fprintf(&svg, `<title>%s</title>`+"\n", html.EscapeString(fmt.Sprintf("Latency from the moment when a request was due, %.6g requests/s at %s", r.Rate, r.URL)))
	for _, nine := range nines {
		fmt.Fprintf(&svg, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(nine.at), top, x(nine.at), height-below, x(nine.at), height-below+20, nine.label)
	}
	for power := low; power <= high; power++ {
		at := y(math.Pow(10, power))
		fmt.Fprintf(&svg, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%.6g ms</text>`+"\n", left, at, width-right, at, left-8, at+4, math.Pow(10, power-3))
	}
	for i, m := range r.Kinds {
		if m.Answers == 0 {
			continue
		}
		colour := colours[i%len(colours)]
		fmt.Fprintf(&svg, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, colour)
		for step := 0.0; step <= 40; step++ {
			nine := step / 40 * nines[len(nines)-1].at
			fmt.Fprintf(&svg, "%.1f,%.1f ", x(nine), y(float64(m.latency.ValueAtQuantile(100-math.Pow(10, 2-nine)))))
		}
		fmt.Fprintf(&svg, `"/><text x="%d" y="%d" style="fill:%s">%s</text>`+"\n", left+i*110, top-16, colour, html.EscapeString(m.Kind))
	}
	fmt.Fprintf(&svg, `<text x="%d" y="%d" text-anchor="middle">answers as fast</text></svg>`+"\n", (width+left)/2, height-10)
	return svg.Bytes()
}
