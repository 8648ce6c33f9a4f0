package console

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var screenshots = flag.Bool("screenshots", false, "write the pictures of the console in docs/images")

// docs is the folder of the documents, and maxImages how many bytes the pictures of the console may have together.
const (
	docs      = "../../../docs"
	maxImages = 600_000
)

// A picturedPage is a page of which there is a picture, by its name in docs/console.md, and how to come to it.
type picturedPage struct{ name, path, click string }

// pictured are the pages of the holder's console, and picturedOperator those that the operator's alone has.
var (
	pictured = []picturedPage{
		{"Overview", "/console", ""},
		{"Events", "/console/events", ""},
		{"one event", "/console/events?decision=DENIED", "main tbody tr a"},
		{"Holds", "/console/holds", ""},
		{"Policy", "/console/policy", ""},
		{"Webhooks", "/console/webhooks", ""},
		{"Key", "/console/key", ""},
		{"Verify", "/console/verify", ""},
	}
	picturedOperator = []picturedPage{
		{"All keys", "/console/keys", ""},
		{"Sign in", "/console/keys", "header form button"}, // signing out leads to it
	}
)

// imageName is the name of the picture of a page.
func imageName(page string, v view) string {
	name := "console-" + strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(page), "one "), " ", "-")
	if v.phone {
		name += "-phone"
	}
	return name + ".png"
}

// takeScreenshots takes the pictures of pages.
func takeScreenshots(t *testing.T, s *stage, v visitor, pages []picturedPage) {
	b := s.open(t, v)
	for _, p := range pages {
		b.visit(p.path)
		if p.click != "" {
			b.load(chromedp.Click(chromedp.CSS(p.click)))
		}
		for _, in := range []view{views[0], views[2]} {
			b.look(in)
			ctx, cancel := b.within()
			picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			cancel()
			if err == nil {
				picture, err = smaller(picture)
			}
			if err == nil {
				err = os.MkdirAll(filepath.Join(docs, "images"), 0o750)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(docs, "images", imageName(p.name, in)), picture, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		b.look(views[0])
	}
}

// smaller writes a PNG again with the 64 colours that most of its pixels have.
func smaller(picture []byte) ([]byte, error) {
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	counts := map[color.RGBA]int{}
	bounds := full.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	all := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var palette color.Palette
	for _, c := range all[:min(64, len(all))] {
		palette = append(palette, c)
	}
	few := image.NewPaletted(bounds, palette)
	nearest := map[color.RGBA]uint8{}
	for _, c := range all {
		nearest[c] = uint8(palette.Index(c))
	}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			few.SetColorIndex(x, y, nearest[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few)
	return out.Bytes(), err
}

// unpictured returns what is wrong with the pictures of a document: each page that its table names has two, all are linked,
// and together they are small.
func unpictured(document string, files map[string][]byte) (faults []string) {
	table := regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(document, -1)
	total, wanted := 0, map[string]bool{}
	for _, row := range table {
		if row[1] == "page" {
			continue
		}
		for _, v := range []view{views[0], views[2]} {
			name := imageName(row[1], v)
			wanted[name] = true
			picture, err := png.DecodeConfig(bytes.NewReader(files[name]))
			if err != nil || picture.Width != int(v.width) {
				faults = append(faults, name+" is missing, or is not a picture of the size of a "+v.name)
			}
			if !strings.Contains(document, "(images/"+name+")") {
				faults = append(faults, "nothing links to "+name)
			}
		}
	}
	if len(table) < 5 {
		faults = append(faults, "the table of pages was not found")
	}
	for name, text := range files {
		if total += len(text); !wanted[name] {
			faults = append(faults, name+" is of no page")
		}
	}
	if total > maxImages {
		faults = append(faults, "the pictures are larger than they may be together")
	}
	return faults
}

// TestImages holds the pictures of docs/console.md to its table of pages; go test ./httpd/e2e/console -screenshots makes them.
func TestImages(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "console.md"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(docs, "images", "console-*.png"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	if faults := unpictured(string(text), files); len(faults) > 0 {
		t.Error(strings.Join(faults, "\n"))
	}
	planted := map[string]string{
		"a page more":   strings.Replace(string(text), "| Holds |", "| Ledgers | shows the ledgers |\n| Holds |", 1),
		"a link less":   strings.Replace(string(text), "(images/console-holds.png)", "", 1),
		"a page less":   regexp.MustCompile(`(?m)^\| Holds \|.*\n`).ReplaceAllString(string(text), ""),
		"another table": strings.ReplaceAll(string(text), "|", "-"),
	}
	for name, document := range planted {
		if len(unpictured(document, files)) == 0 {
			t.Errorf("%s is not found", name)
		}
	}
	large := map[string][]byte{"console-x.png": make([]byte, maxImages+1)}
	if faults := unpictured(string(text), large); !slices.Contains(faults, "the pictures are larger than they may be together") {
		t.Error("large pictures are not found")
	}
}
