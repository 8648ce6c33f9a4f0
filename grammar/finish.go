package grammar

import "strings"

// finish fills in what the productions leave: spans of what has parts, and texts as written.
func (f *File) finish(text string) {
	finishEntries(text, f.Preamble)
	finishLines(text, f.Strays)
	for _, section := range f.Sections {
		section.Name = strings.ToLower(section.Heading.Text)
		section.Span = section.Heading.Span
		section.Span.Start = strings.LastIndexByte(text[:section.Span.Start], '\n') + 1
		finishEntries(text, section.Entries)
		finishLines(text, section.Strays)
		if n := len(section.Entries); n > 0 {
			section.Span.End = section.Entries[n-1].Span.End
		}
	}
}

func finishEntries(text string, entries []*Entry) {
	for _, entry := range entries {
		entry.Key.finish(text)
		finishLines(text, entry.Block)
		entry.Span = entry.Key.Span
		switch n := len(entry.Block); {
		case entry.Value != nil:
			entry.Value.finish(text)
			entry.Span.End = entry.Value.Span.End
		case n > 0:
			entry.Span.End = entry.Block[n-1].Span.End
		}
	}
}

func finishLines(text string, lines []*BlockLine) {
	for _, line := range lines {
		line.Span = line.Key.Span
		line.Key.Text = strings.Trim(line.Key.Text, `"'`) // the scanner has seen to it that they are a pair
		if line.Value != nil {
			line.Value.finish(text)
			line.Span.End = line.Value.Span.End
		}
	}
}

func (k *Key) finish(text string) {
	k.Span = k.Segments[0].Span.To(k.Segments[len(k.Segments)-1].Span)
	if k.Scope != nil {
		k.Span.End = k.Scope.Span.End
	}
	if n := len(k.Path); n > 0 {
		k.Span.End = k.Path[n-1].Span.End
	}
	if n := len(k.Words); n > 0 {
		k.Span.End = k.Words[n-1].Span.End
	}
	k.Text = text[k.Span.Start:k.Span.End]
}

func (v *Value) finish(text string) {
	v.Span = v.Items[0].Span.To(v.Items[len(v.Items)-1].Span)
	v.Raw = text[v.Span.Start:v.Span.End]
	v.Text = v.Raw
	if len(v.Items) == 1 {
		v.Text, v.Quoted = v.Items[0].Text, v.Items[0].Quoted
	}
}
