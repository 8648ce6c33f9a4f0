// Package picture draws the documents' pictures as SVG: boxes on a grid, with arrows between them. A picture follows the reader's
// choice of light or dark.
package picture

import (
	"fmt"
	"html"
	"strings"
)

// The sizes, in pixels. Texts are as wide as their font is on average, which leaves a margin in boxes.
const (
	boxWidth, boxHeight = 188, 78
	gapX, gapY          = 62, 46
	margin              = 14
	lineHeight          = 17
	maxLetters          = 26 // of a line in a box
)

// A Box is a step or a state. Its first line is its title.
type Box struct {
	Column, Row int
	Lines       []string
	End         string // "good", "bad" or "wait" for an outcome, "" for a step
}

// An Arrow leads from one box to another, named by their titles.
type Arrow struct {
	From, To string
	Label    string
}

// A Picture has boxes, arrows, and a sentence that says the same to readers who can't see it.
type Picture struct {
	Says   string
	Boxes  []Box
	Arrows []Arrow
}

const style = `text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.label{font-size:12px;fill:#59636e}
rect{fill:#f6f8fa;stroke:#818b98}.good{fill:#dafbe1;stroke:#1a7f37}.bad{fill:#ffebe9;stroke:#cf222e}.wait{fill:#fff8c5;stroke:#9a6700}
path{stroke:#59636e;fill:none}marker path{fill:#59636e}.paper{fill:#fff;stroke:none}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.label{fill:#9198a1}rect{fill:#151b23;stroke:#656c76}.good{fill:#12261e;stroke:#3fb950}
.bad{fill:#25171c;stroke:#f85149}.wait{fill:#272115;stroke:#d29922}path{stroke:#9198a1}marker path{fill:#9198a1}.paper{fill:#0d1117}}`

// SVG returns the picture, or says what does not fit: two boxes in one place, a line too long, an arrow from nowhere.
func (p Picture) SVG() (string, error) {
	boxes, taken := map[string]Box{}, map[[2]int]bool{}
	columns, rows := 0, 0
	for _, box := range p.Boxes {
		place := [2]int{box.Column, box.Row}
		if len(box.Lines) == 0 || len(box.Lines) > 4 || taken[place] || boxes[box.Lines[0]].Lines != nil {
			return "", fmt.Errorf("the box %q has no place of its own, or not 1 to 4 lines", box.Lines)
		}
		for _, line := range box.Lines {
			if len(line) > maxLetters {
				return "", fmt.Errorf("%q has more than %d letters", line, maxLetters)
			}
		}
		boxes[box.Lines[0]], taken[place] = box, true
		columns, rows = max(columns, box.Column+1), max(rows, box.Row+1)
	}
	width, height := 2*margin+columns*(boxWidth+gapX)-gapX, 2*margin+rows*(boxHeight+gapY)-gapY
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">
<style>%s</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>
<rect class="paper" width="%d" height="%d"/>
`, width, height, width, height, html.EscapeString(p.Says), style, width, height)
	for _, arrow := range p.Arrows {
		from, to := boxes[arrow.From], boxes[arrow.To]
		if from.Lines == nil || to.Lines == nil {
			return "", fmt.Errorf("the arrow from %q to %q lacks a box", arrow.From, arrow.To)
		}
		arrow.draw(&b, from, to)
	}
	for _, box := range p.Boxes {
		box.draw(&b)
	}
	return b.String() + "</svg>\n", nil
}

// corner is the upper left of a box.
func (b Box) corner() (x, y int) {
	return margin + b.Column*(boxWidth+gapX), margin + b.Row*(boxHeight+gapY)
}

func (b Box) draw(w *strings.Builder) {
	x, y := b.corner()
	class := ""
	if b.End != "" {
		class = fmt.Sprintf(` class="%s"`, b.End)
	}
	fmt.Fprintf(w, "<rect%s x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", class, x, y, boxWidth, boxHeight)
	top := y + (boxHeight-lineHeight*len(b.Lines))/2 + 13
	for i, line := range b.Lines {
		title := ""
		if i == 0 {
			title = ` class="title"`
		}
		fmt.Fprintf(w, "<text%s x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", title, x+boxWidth/2, top+i*lineHeight, html.EscapeString(line))
	}
}

// draw draws an arrow: straight within a row or a column, else down, across between the rows, and down again.
func (a Arrow) draw(w *strings.Builder, from, to Box) {
	x1, y1 := from.corner()
	x2, y2 := to.corner()
	var (
		labelX, labelY int
		path           string
	)
	anchor := "middle"
	switch {
	case from.Row == to.Row && from.Column < to.Column:
		path = fmt.Sprintf("M%d %dH%d", x1+boxWidth, y1+boxHeight/2, x2)
		labelX, labelY = (x1+boxWidth+x2)/2, y1+boxHeight/2-6
	case from.Row == to.Row:
		path = fmt.Sprintf("M%d %dH%d", x1, y1+boxHeight/2, x2+boxWidth)
		labelX, labelY = (x1+x2+boxWidth)/2, y1+boxHeight/2-6
	case from.Row < to.Row:
		path = fmt.Sprintf("M%d %dV%dH%dV%d", x1+boxWidth/2, y1+boxHeight, y2-gapY/2, x2+boxWidth/2, y2)
		labelX, labelY, anchor = x2+boxWidth/2+6, y2-6, "start"
	default:
		path = fmt.Sprintf("M%d %dV%dH%dV%d", x1+boxWidth/2, y1, y1-gapY/2, x2+boxWidth/2, y2+boxHeight)
		labelX, labelY, anchor = x2+boxWidth/2+6, y2+boxHeight+14, "start"
	}
	fmt.Fprintf(w, "<path d=\"%s\" marker-end=\"url(#head)\"/>\n", path)
	if a.Label != "" {
		fmt.Fprintf(w, "<text class=\"label\" x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", labelX, labelY, anchor, html.EscapeString(a.Label))
	}
}
