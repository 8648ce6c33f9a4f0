package grammar

import (
	"fmt"
	"strings"
)

// dump writes a tree as text, one node a line; with spans, or without, to compare trees of different texts.
type dump struct {
	strings.Builder
	spans bool
}

func dumpFile(f *File, spans bool) string {
	d := dump{spans: spans}
	if f.Version != nil {
		d.line(0, f.Version.Span, "version %d.%d.%d", f.Version.Major, f.Version.Minor, f.Version.Patch)
	}
	for _, section := range f.Sections {
		d.line(0, section.Span, "section %s", section.Name)
		for _, entry := range section.Entries {
			d.entry(entry)
		}
	}
	if spans {
		for _, comment := range f.Comments {
			d.line(0, comment.Span, "comment %q", comment.Text)
		}
	}
	return d.String()
}

func (d *dump) line(depth int, span Span, format string, arguments ...any) {
	d.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(d, format, arguments...)
	if d.spans {
		fmt.Fprintf(d, "  %d-%d", span.Start, span.End)
	}
	d.WriteByte('\n')
}

func (d *dump) entry(entry *Entry) {
	k := entry.Key
	var parts []string
	for _, segment := range k.Segments {
		parts = append(parts, segment.Text)
	}
	if k.Scope != nil {
		parts = append(parts, "["+k.Scope.Pattern.Text+"]")
	}
	for _, segment := range k.Path {
		parts = append(parts, segment.Text)
	}
	for _, word := range k.Words {
		parts = append(parts, "+"+word.Text)
	}
	d.line(1, k.Span, "key %s", strings.Join(parts, " "))
	d.value(2, entry.Value)
	for _, line := range entry.Block {
		d.line(2, line.Key.Span, "line %s", line.Key.Text)
		d.value(3, line.Value)
	}
}

func (d *dump) value(depth int, v *Value) {
	if v == nil {
		return
	}
	if v.Quoted || len(v.Items) > 1 {
		d.line(depth, v.Span, "text %q quoted=%t", v.Text, v.Quoted)
	}
	for _, item := range v.Items {
		d.line(depth, item.Span, "item %q", item.Text)
	}
}
