package console

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"bailiff/fuzz/kit/npm"
)

//go:embed package.json package-lock.json
var packages embed.FS

// A view is how a visitor looks at a page.
type view struct {
	name          string
	width, height int64
	phone, dark   bool
}

// views are those in which every page is checked.
var views = [...]view{
	{"desktop", 1280, 800, false, false},
	{"desktop, dark", 1280, 800, false, true},
	{"phone", 360, 740, true, false},
	{"phone, dark", 360, 740, true, true},
}

// look sets the view of the tab.
func (b *tab) look(v view) {
	b.t.Helper()
	scheme := "light"
	if v.dark {
		scheme = "dark"
	}
	b.do(
		call(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.width, Height: v.height, DeviceScaleFactor: 1, Mobile: v.phone}),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
	)
}

// axe returns the source of the accessibility checker.
func axe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(npm.Install(t, "console-e2e", packages), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inaccessible has axe check the page by its rules of all levels, and returns what it finds wrong. In the dark, where the page
// differs in its colours alone, axe checks by the rules of colours.
func (b *tab) inaccessible(axe string, v view) []string {
	b.t.Helper()
	options := `{resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}`
	if v.dark {
		options = `{resultTypes: ["violations"], runOnly: {type: "rule", values: ["color-contrast", "link-in-text-block"]}}`
	}
	b.do(chromedp.Evaluate[chromedp.Void]("window.axe === undefined && (() => {" + axe + "})()"))
	return ask[[]string](b, `axe.run(document, `+options+`).then(result =>
		result.violations.flatMap(rule => rule.nodes.map(node => rule.id + ": " + node.html.slice(0, 200) + ": " + node.failureSummary)))`)
}

// wide returns what makes the page wider than a view.
func (b *tab) wide(v view) []string {
	b.t.Helper()
	return ask[[]string](b, fmt.Sprintf(`(() => {
		const width = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
		if (width <= %d) return [];
		const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %d + 1 && !e.parentElement.closest(".scroll"));
		return ["the page is " + width + " pixels wide: " + wide.slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join(" | ")];
	})()`, v.width, v.width))
}

// broken returns short words in tables that are broken over two lines.
func (b *tab) broken() []string {
	b.t.Helper()
	return ask[[]string](b, `(() => {
		const found = [], range = document.createRange();
		for (const cell of [...document.querySelectorAll("th, td")].slice(0, 200)) {
			const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
			while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/(?<!\S)[\w.]{1,12}(?!\S)/g)) {
				range.setStart(texts.currentNode, word.index);
				range.setEnd(texts.currentNode, word.index + word[0].length);
				const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
				if (tops.size > 1) found.push("the word " + word[0] + " is broken");
			}
		}
		return found.slice(0, 5);
	})()`)
}

// unshown returns the pictures of the page that are not shown.
func (b *tab) unshown() []string {
	b.t.Helper()
	return ask[[]string](b, `[...document.images].filter(e => !e.complete || !e.naturalWidth).map(e => "the picture is not shown: " + e.outerHTML)`)
}

// faults returns what is wrong with the page that the tab shows: what the browser reported, pictures that are
// missing, and in each view, with all details open, whether it scrolls sideways or breaks words, and what axe finds.
func (b *tab) faults(axe string, in ...view) (faults []string) {
	b.t.Helper()
	faults = append(b.reported(), b.unshown()...)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(e => { e.open = true })`))
	for _, v := range in {
		b.look(v)
		for _, fault := range slices.Concat(b.wide(v), b.broken(), b.inaccessible(axe, v)) {
			faults = append(faults, v.name+": "+fault)
		}
	}
	b.look(views[0])
	return append(faults, b.reported()...)
}

// sound fails where the page has faults in any view.
func (b *tab) sound(axe string) {
	b.t.Helper()
	if faults := b.faults(axe, views[:]...); len(faults) > 0 {
		b.t.Errorf("%s:\n%s", b.path(), strings.Join(faults, "\n"))
	}
}

// focus says which element of the page has the keyboard's focus.
type focus struct {
	Name    string // its tag, and its id, label or text
	Fault   string // why it cannot be seen that it has the focus; empty: it can
	Href    string
	Nothing bool // the focus is on no element of the page
}

// focused returns where the focus is, and whether the page shows it: by an outline in another colour, in the window.
func (b *tab) focused() focus {
	b.t.Helper()
	return ask[focus](b, `(() => {
		const e = document.activeElement;
		if (!e || e === document.body || e === document.documentElement) return {Nothing: true};
		const style = getComputedStyle(e), box = e.getBoundingClientRect();
		let fault = "";
		if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) fault = "it has no outline of two pixels";
		else if (style.outlineColor === getComputedStyle(document.body).backgroundColor) fault = "its outline has the colour of the page";
		else if (box.bottom <= 0 || box.right <= 0 || box.top >= innerHeight || box.left >= innerWidth) fault = "it is outside of the window";
		return {Name: e.tagName.toLowerCase() + " " + (e.id || e.getAttribute("aria-label") || e.innerText || "").slice(0, 60), Fault: fault, Href: e.getAttribute("href") || "", Nothing: false};
	})()`)
}
