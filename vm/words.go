package vm

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bailiff/vm/match"
	"bailiff/vm/wire"
)

// Words returns the list of the policy that the denial or hold at pc is about, nil where it is about none. The caller must not
// change it.
func (p *Program) Words(pc uint16) *WordList {
	i, found := slices.BinarySearchFunc(p.listed, pc, func(w wordsAt, pc uint16) int { return int(w.pc) - int(pc) })
	if !found {
		return nil
	}
	return &p.lists[p.listed[i].list]
}

// Culprit returns the word of a list that led a run over frame to a violation, the first in the order of the policy, or
// "" where no word did so by itself. It looks through the list word by word, which may take longer than the run did: left is
// how many bytes it may still look at, of texts once for each word, and it returns "" where they do not suffice.
func (p *Program) Culprit(found *Violation, frame []Value, left *int) string {
	list := p.Words(found.PC)
	if list == nil || list.Allows {
		return ""
	}
	if len(list.Texts) == 1 {
		return list.Texts[0]
	}
	for at := int(found.PC) - 1; at >= 0; at-- {
		in := &p.code[at]
		if f := specs[in.Op].flow; f != flowTest && f != flowJump && (in.Op != OpDeny || in.C != found.Rule) {
			return ""
		}
		if specs[in.Op].a != aQuantified || !p.constants[in.C].isSet() || int(in.B) >= len(frame) {
			continue
		}
		value := &frame[in.B]
		if in.B == found.Slot && found.Element >= 0 && int(found.Element) < len(value.Elems) {
			value = &value.Elems[found.Element]
		}
		if text := list.culprit(in.Op, &p.constants[in.C], value, left); text != "" {
			return text
		}
	}
	return ""
}

// Asker returns the word of a list by which the hold at pc asks for a human decision over frame, the first in the order of the
// policy, or "" where no word did so by itself: what could not be read is held too. Left is as for Culprit.
func (p *Program) Asker(pc uint16, frame []Value, left *int) string {
	list := p.Words(pc)
	if list == nil || list.Allows || pc == 0 {
		return ""
	}
	last := &p.code[pc-1]
	if last.Op == OpSwitch && int(last.B) < len(frame) {
		return list.switched(&frame[last.B], left)
	}
	for at := int(pc) - 1; at >= 0; at-- { // several tests may be of the same words
		in := &p.code[at]
		if specs[in.Op].a != aQuantified || in.C != last.C || !p.constants[in.C].isSet() || int(in.B) >= len(frame) {
			break
		}
		if text := list.culprit(in.Op, &p.constants[in.C], &frame[in.B], left); text != "" {
			return text
		}
	}
	return ""
}

// switched is culprit for a switch, whose cases are texts or, with a star at the end, how texts start.
func (l *WordList) switched(v *Value, left *int) string {
	if v.Kind&textual == 0 {
		return ""
	}
	for i, form := range l.Forms {
		if *left -= wordBytes; *left < 0 {
			return ""
		}
		if holdsBy(form, OpIn, 0, v.Text) || strings.HasSuffix(form, "*") && holdsBy(form, OpStarts, 0, v.Text) {
			return l.Texts[i]
		}
	}
	return ""
}

// First returns the first element of a list by which a run over frame came to a violation of a list of words that denies, or
// NoElement where what violated the rule is no list. Several tests may lead to one denial, and the machine names the element
// that the last of them looked at.
func (p *Program) First(found *Violation, frame []Value) int32 {
	first := found.Element
	if list := p.Words(found.PC); list == nil || list.Allows {
		return first
	}
	for at := int(found.PC) - 1; at >= 0 && specs[p.code[at].Op].a == aQuantified; at-- {
		in := &p.code[at]
		if in.B != found.Slot || in.A&bitAll != 0 || !p.constants[in.C].isSet() {
			break
		}
		for i := int32(0); i < first; i++ {
			e := &frame[in.B].Elems[i]
			if e.Kind&Invalid != 0 || e.Kind&textual != 0 && p.constants[in.C].judge(in.Op, e.Text) == yes {
				first = i
			}
		}
	}
	return first
}

// wordBytes is what looking at a word takes beside its text.
const wordBytes = 32

// culprit is Culprit for one test of a value. Of a list its first element counts for which the test holds.
func (l *WordList) culprit(op Op, c *constant, v *Value, left *int) string {
	if v.Kind == List {
		i := slices.IndexFunc(v.Elems, func(e Value) bool { return e.Kind&textual != 0 && c.judge(op, e.Text) == yes })
		if i < 0 {
			return ""
		}
		v = &v.Elems[i]
	}
	if v.Kind&textual == 0 || c.judge(op, v.Text) != yes {
		return ""
	}
	each := wordBytes + len(v.Text)
	if op == OpIn || op == OpStarts { // they look at no more than the word has
		each = wordBytes
	}
	for i, form := range l.Forms {
		if *left -= each; *left < 0 {
			return ""
		}
		if holdsBy(form, op, c.style, v.Text) {
			return l.Texts[i]
		}
	}
	return ""
}

// holdsBy reports whether a test by one form of a word holds.
func holdsBy(form string, op Op, style match.GlobStyle, value string) bool {
	switch op {
	case OpIn:
		return value == form
	case OpStarts:
		if start, open := strings.CutSuffix(form, "*"); open {
			return strings.HasPrefix(value, start)
		}
		return strings.HasPrefix(value, form) && value[len(form):] != "" && value[len(form)] == '/'
	case OpContains:
		return strings.Contains(value, form)
	case OpHost:
		return match.CoversHost(form, value)
	case OpPath:
		return match.CoversPath(form, value)
	case OpGlob:
		return match.CoversGlob(style, form, value)
	}
	return false
}

// appendWords appends the lists and where they belong.
func (p *Program) appendWords(b []byte) []byte {
	b = wire.AppendCount(b, len(p.lists))
	for i := range p.lists {
		l := &p.lists[i]
		b = append(b, wire.Bit(l.Allows))
		b = wire.AppendCount(wire.AppendCount(b, l.Count), len(l.Texts))
		for i, text := range l.Texts {
			if l.Allows {
				b = wire.AppendText(b, text)
				continue
			}
			b = wire.AppendFlagged(b, text, l.Forms[i] != text)
			if l.Forms[i] != text {
				b = wire.AppendText(b, l.Forms[i])
			}
		}
	}
	b = wire.AppendCount(b, len(p.listed))
	for _, at := range p.listed {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, at.pc), at.list)
	}
	return b
}

// words reads the lists and where they belong.
func (r *reader) words(p *Program) {
	p.lists = wire.Rows(r, 3, (*reader).wordList)
	p.listed = wire.Rows(r, 4, func(r *reader) wordsAt { return wordsAt{r.Uint16(), r.Uint16()} })
}

func (r *reader) wordList() (l WordList) {
	kind, count := r.Byte(), r.Uvarint()
	if kind > 1 || count > MaxWords {
		r.Failf("%d is not a kind of list, or %d words are more than %d", kind, count, MaxWords)
		return l
	}
	l.Allows, l.Count = kind == 1, int(count)
	if l.Allows {
		l.Texts = wire.Rows(r, 1, (*reader).Text)
		return l
	}
	for n := r.Count(1); n > 0 && r.Err() == nil; n-- {
		text, apart := r.Flagged()
		form := text
		if apart {
			if form = r.Text(); form == text {
				r.Failf("the form of a word occurs twice")
			}
		}
		l.Texts, l.Forms = append(l.Texts, text), append(l.Forms, form)
	}
	return l
}

// checkWords verifies what a debug section says of lists.
func (p *Program) checkWords() error {
	for i := range p.lists {
		if err := p.lists[i].check(); err != nil {
			return fmt.Errorf("list %d of the policy: %w", i, err)
		}
	}
	last := -1
	for _, at := range p.listed {
		if int(at.pc) <= last || int(at.pc) >= len(p.code) || int(at.list) >= len(p.lists) {
			return fmt.Errorf("list %d of the policy belongs to instruction %d, which is out of range or order", at.list, at.pc)
		}
		last = int(at.pc)
	}
	return nil
}

func (l *WordList) check() error {
	switch {
	case l.Count < len(l.Texts) || l.Count > MaxWords || l.Allows && len(l.Texts) > MaxAllowedWords:
		return fmt.Errorf("it has %d words of %d", len(l.Texts), l.Count)
	case l.Allows != (l.Forms == nil) && len(l.Texts) > 0 || !l.Allows && len(l.Forms) != len(l.Texts):
		return fmt.Errorf("it has %d forms of %d words", len(l.Forms), len(l.Texts))
	}
	for _, text := range l.Texts {
		if text == "" || len(text) > MaxWord || !utf8.ValidString(text) {
			return fmt.Errorf("%.80q is not a word of 1 to %d bytes of UTF-8", text, MaxWord)
		}
	}
	for _, form := range l.Forms {
		if err := validateText(form); err != nil {
			return err
		}
	}
	return nil
}
