package response

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of the results of covered tools.
const (
	maxResult = 1 << 20 // bytes
	maxDepth  = 100     // arrays and objects within each other
)

// ErrRefused means that a rule keeps a result back.
var ErrRefused = errors.New("a response rule refuses the result")

// Findings are the classes that were found in a result that is passed on.
type Findings struct {
	Observed []Class // only to be reported; the result has them still
	Redacted []Class
}

// Apply enforces the rules at a time on the result of a tool of a server, or on the object of an error. It returns the result itself
// where nothing is redacted. An error wraps ErrRefused, and says nothing of the contents. An empty tool is one that is not known.
func (r *Rules) Apply(server, tool string, result json.RawMessage, now time.Time) (json.RawMessage, Findings, error) {
	covered, page := r.Covers(server, tool)
	switch {
	case !covered:
		return result, Findings{}, nil
	case r.Scanner != nil && r.Scanner.Required:
		return nil, Findings{}, refuse("the policy requires the verdict of a scanner (mcp.response.scanner.required), and there is no scanner; remove the key, or have another client run the tool")
	case len(result) > maxResult:
		return nil, Findings{}, refuse("the result has %d bytes; at most %d can be inspected: ask for less at a time", len(result), maxResult)
	}
	i := inspector{rules: r, page: page, now: now.Unix(), text: result, deny: lowerAddresses(r.DenyString)}
	i.addresses = address.MatchString(r.DenyString)
	if err := i.read(); err != nil {
		return nil, Findings{}, err
	}
	if i.kept == 0 {
		return result, i.found, nil
	}
	return append(i.out, result[i.kept:]...), i.found, nil
}

func refuse(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, arguments...))
}

// An inspector is on its way through one result.
type inspector struct {
	rules *Rules
	page  bool
	now   int64
	deny  string // the text that is denied, addresses in lower case; empty for none
	// addresses says that the denied text has an address, which matches without regard to case.
	addresses bool
	text      []byte
	out       []byte // what is shown of text[:kept]
	kept      int    // 0: nothing is redacted yet
	found     Findings
}

// read inspects every token. The decoder refuses names that come twice and invalid UTF-8.
func (i *inspector) read() error {
	d := jsontext.NewDecoder(bytes.NewReader(i.text))
	member := ""
	for first := true; first || d.StackDepth() > 0; first = false {
		token, err := d.ReadToken()
		if err != nil {
			return refuse("the result cannot be read as JSON without doubt")
		}
		if d.StackDepth() > maxDepth {
			return refuse("the result has more than %d arrays and objects within each other", maxDepth)
		}
		kind := token.Kind()
		container, length := d.StackIndex(d.StackDepth())
		name := kind == '"' && container == '{' && length%2 == 1
		value := ""
		if kind == '"' || kind == '0' {
			value = token.String()
			if err := i.inspect(value, member, int(d.InputOffset()), kind == '"' && !name); err != nil {
				return err
			}
		}
		switch {
		case name:
			member = value
		case container == '{':
			member = ""
		}
	}
	if len(bytes.TrimSpace(i.text[d.InputOffset():])) > 0 {
		return refuse("the result cannot be read as JSON without doubt")
	}
	return nil
}

// inspect looks at one string or number that ends before a byte of the text. What is not mutable cannot be redacted, so a finding
// there refuses the result.
func (i *inspector) inspect(value, member string, to int, mutable bool) error {
	var redact []span
	forms := i.forms(value, member)
	for n, form := range forms {
		if i.denies(form) {
			return refuse("it contains the text of custom.response.deny_string")
		}
		for _, class := range classes {
			what := i.rules.treatment(class, i.now)
			if what == ignored {
				continue
			}
			found := find(class, form)
			switch {
			case len(found) == 0:
			case what == observed:
				i.found.Observed = including(i.found.Observed, class)
			case what == blocked:
				return refuse("it contains what looks like %s (mcp.response.block_classes, or an observation that has ended)", class)
			case n > 0 || !mutable:
				return refuse("it contains what looks like %s where it cannot be redacted (mcp.response.redact_classes)", class)
			default:
				redact = append(redact, found...)
				i.found.Redacted = including(i.found.Redacted, class)
			}
		}
	}
	if len(redact) > 0 {
		i.replace(value, merge(redact), to)
	}
	return nil
}

// address is an address of an EVM chain in a text.
var address = regexp.MustCompile(`0[xX][0-9a-fA-F]{40}`)

func lowerAddresses(text string) string { return address.ReplaceAllStringFunc(text, strings.ToLower) }

// denies reports whether a text contains the denied one. Case counts, except in addresses.
func (i *inspector) denies(text string) bool {
	if i.addresses {
		text = lowerAddresses(text)
	}
	return i.deny != "" && strings.Contains(text, i.deny)
}

// including returns a list with a class in it once.
func including(list []Class, class Class) []Class {
	if slices.Contains(list, class) {
		return list
	}
	return append(list, class)
}

// forms are the ways in which a reader may take a string: as it is, as a web page without its character references, and the text in
// what it is the base64 of, where the protocol has binary data.
func (i *inspector) forms(value, member string) []string {
	forms := []string{value}
	if i.page {
		if plain := html.UnescapeString(value); plain != value {
			forms = append(forms, plain)
		}
	}
	if member == "blob" || member == "data" {
		if text := textIn(decoded(value)); text != "" {
			forms = append(forms, text)
		}
	}
	return forms
}

// decoded is what a text is the base64 of, as the most lenient reader takes it: with either alphabet, and without what is in neither.
func decoded(text string) []byte {
	text = strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '+', r == '/':
			return r
		case r == '-':
			return '+'
		case r == '_':
			return '/'
		}
		return -1
	}, text)
	if len(text)%4 == 1 {
		text = text[:len(text)-1] // of a cut end, which means no byte
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return nil // not possible: nothing else is left in it
	}
	return raw
}

// minRun is how many printable bytes in binary data count as text. Fewer come about by chance.
const minRun = 12

// textIn is the text in binary data: all of it where it is UTF-8, and the runs of printable ASCII where it is not. Zero bytes count
// for nothing, so that UTF-16 is read, too.
func textIn(raw []byte) string {
	raw = bytes.ReplaceAll(raw, []byte{0}, nil)
	if utf8.Valid(raw) {
		return string(raw)
	}
	runs := bytes.FieldsFunc(raw, func(r rune) bool { return r > '~' || r < ' ' && r != '\t' && r != '\n' && r != '\r' })
	runs = slices.DeleteFunc(runs, func(run []byte) bool { return len(run) < minRun })
	return string(bytes.Join(runs, []byte{0}))
}

// mark means what was redacted.
const mark = "[redacted]"

// replace writes a string with marks in the place of spans. It ends before a byte of the text.
func (i *inspector) replace(value string, spans []span, to int) {
	var shown strings.Builder
	last := 0
	for _, s := range spans {
		shown.WriteString(value[last:s.from] + mark)
		last = s.to
	}
	shown.WriteString(value[last:])
	from := start(i.text, to)
	i.out = append(i.out, i.text[i.kept:from]...)
	i.out, _ = jsontext.AppendQuote(i.out, shown.String()) // of valid UTF-8, as its parts are
	i.kept = to
}

// start returns where the string begins that ends before a byte: after an even number of backslashes a quote is one of its ends.
func start(text []byte, to int) int {
	for at := to - 2; ; at-- {
		if text[at] != '"' {
			continue
		}
		backslashes := 0
		for at-backslashes > 0 && text[at-backslashes-1] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return at
		}
	}
}
