package grammar

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// piece is one heading, entry, block line or comment as it is laid out.
type piece struct {
	span Span // what it is on in the source
	kind pieceKind
	text string // without indentation and line end
}

type pieceKind int

const (
	pieceEntry pieceKind = iota
	pieceHeading
	pieceBlockKey
	pieceBlockLine
	pieceComment
)

// layOut writes the pieces in order, with the blank lines and the indentation that belong between them.
func (f *File) layOut(isList Lists) []byte {
	pieces := f.pieces(isList)
	blank, indented := blanks(pieces, f.Framed.Body), indents(pieces)
	var out bytes.Buffer
	for i, p := range pieces {
		if blank[i] {
			out.WriteByte('\n')
		}
		if indented[i] {
			out.WriteString("  ")
		}
		out.WriteString(p.text)
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// indents says which pieces are indented: the lines of blocks, and the comments above them.
func indents(pieces []piece) []bool {
	indented := make([]bool, len(pieces)+1)
	for i, p := range slices.Backward(pieces) {
		indented[i] = p.kind == pieceBlockLine || p.kind == pieceComment && indented[i+1]
	}
	return indented
}

// blanks says before which pieces a blank line is: where one or more are in the source, but not straight below a
// heading or the key of a block; and before each heading, above the comments that are attached to it.
func blanks(pieces []piece, body []byte) []bool {
	blank := make([]bool, len(pieces))
	for i := 1; i < len(pieces); i++ {
		before := pieces[i-1]
		blank[i] = bytes.Count(body[before.span.End:pieces[i].span.Start], newline) > 1 &&
			before.kind != pieceHeading && before.kind != pieceBlockKey
	}
	for i, p := range pieces {
		if p.kind != pieceHeading {
			continue
		}
		for i > 0 && pieces[i-1].kind == pieceComment && !blank[i] {
			i--
		}
		blank[i] = i > 0
	}
	return blank
}

// pieces returns what the file consists of, in its order.
func (f *File) pieces(isList Lists) []piece {
	var pieces []piece
	add := func(kind pieceKind, span Span, text string) { pieces = append(pieces, piece{span, kind, text}) }
	entries := func(section string, entries []*Entry) {
		for _, entry := range entries {
			if entry.Value != nil {
				add(pieceEntry, entry.Span, layOutEntry(entry, isList(section, entry.Key)))
				continue
			}
			add(pieceBlockKey, entry.Key.Span, entry.Key.String()+":")
			for _, line := range entry.Block {
				add(pieceBlockLine, line.Span, `"`+line.Key.Text+`": `+joinItems(line.Value))
			}
		}
	}
	entries("", f.Preamble)
	for _, section := range f.Sections {
		add(pieceHeading, section.Heading.Span, "## "+section.Name)
		entries(section.Name, section.Entries)
	}
	for _, comment := range f.Comments {
		add(pieceComment, comment.Span, trimLines(comment.Text))
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(a.span.Start, b.span.Start) })
	return pieces
}

func layOutEntry(entry *Entry, isList bool) string {
	key, value := entry.Key.String(), entry.Value.Raw
	switch {
	case entry.Key.Segments[0].Text == denyIf && !strings.HasPrefix(value, ":"):
		return key + " " + value
	case isList:
		value = joinItems(entry.Value)
	}
	return key + ": " + value
}

// joinItems returns a list as it is laid out, each item as written.
func joinItems(v *Value) string {
	texts := make([]string, len(v.Items))
	for i, item := range v.Items {
		texts[i] = item.Raw
	}
	return strings.TrimRight(strings.Join(texts, ", "), " ") // the last item may be an empty one
}

// trimLines cuts white space, and CR, from the end of each line of a comment.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.Join(lines, "\n")
}
