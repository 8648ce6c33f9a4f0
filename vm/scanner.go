package vm

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"bailiff/vm/amount"
)

// An assembler reads lines of words.
type assembler struct {
	program Program
	fields  map[string]uint16
	headers int // of the lines that begin a text, how many were read
	words   []word
	err     error
}

// A word is the text between white space: a quoted text, or anything else as it is.
type word struct {
	text   string
	quoted bool
}

// split cuts a line into words.
func split(source string) (words []word, err error) {
	for {
		source = strings.TrimLeft(source, " \t\r\n")
		switch {
		case source == "" || source[0] == ';':
			return words, nil
		case source[0] == '"':
			prefix, err := strconv.QuotedPrefix(source)
			if err != nil {
				return nil, errors.New("a quoted text does not end")
			}
			text, err := strconv.Unquote(prefix)
			if err != nil {
				return nil, fmt.Errorf("%s is not a quoted text", prefix)
			}
			words, source = append(words, word{text, true}), source[len(prefix):]
		default:
			end := strings.IndexAny(source, " \t\r\n\";")
			if end < 0 {
				end = len(source)
			}
			words, source = append(words, word{source[:end], false}), source[end:]
		}
	}
}

func (a *assembler) failf(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// next takes the next word.
func (a *assembler) next(quoted bool, what string) string {
	if a.err == nil && (len(a.words) == 0 || a.words[0].quoted != quoted) {
		a.failf("%s is missing", what)
	}
	if a.err != nil {
		return ""
	}
	text := a.words[0].text
	a.words = a.words[1:]
	return text
}

func (a *assembler) quoted() string { return a.next(true, "a quoted text") }

func (a *assembler) bare() string { return a.next(false, "a word") }

// peek reports whether the next word is keyword, and takes it if so.
func (a *assembler) peek(keyword string) bool {
	if a.err != nil || len(a.words) == 0 || a.words[0] != (word{keyword, false}) {
		return false
	}
	a.words = a.words[1:]
	return true
}

// number reads a number of one byte in its shortest form.
func (a *assembler) number() int { return a.prefixed("", math.MaxUint8) }

// prefixed reads a number behind a fixed word.
func (a *assembler) prefixed(prefix string, largest int) int {
	text := a.bare()
	digits, ok := strings.CutPrefix(text, prefix)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 || n > largest || strconv.Itoa(n) != digits {
		a.failf("%q: %s and a number up to %d is wanted", text, strconv.Quote(prefix), largest)
		return 0
	}
	return n
}

// index reads a number of 16 bits behind a fixed word.
func (a *assembler) index(prefix string) uint16 { return uint16(a.prefixed(prefix, 0xffff)) }

// slot reads the name of a field.
func (a *assembler) slot() uint16 {
	name := a.quoted()
	slot, known := a.fields[name]
	if !known {
		a.failf("no field is called %q", name)
	}
	return slot
}

// expect takes a word that has to be here.
func (a *assembler) expect(keyword string) {
	if !a.peek(keyword) {
		a.failf("%q is missing", keyword)
	}
}

func (a *assembler) amount() amount.Amount {
	v, err := amount.ParseBase(a.bare())
	if err != nil {
		a.failf("%v", err)
	}
	return v
}
