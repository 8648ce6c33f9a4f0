package match

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// A reading is a kind of instruction that reads a rune. Instructions that are copies of one part of an expression have
// the same runes in the same memory.
type reading struct {
	op     syntax.InstOp
	fold   uint32
	length int
	runes  *rune
}

// classify divides the runes into classes that no instruction tells apart. It is not ok where they would be too many.
func (d *determiner) classify() (ok bool) {
	readers, splits := d.readers()
	if len(splits) > maxDFASplits || len(splits)*len(readers) > maxDFASplits {
		return false
	}
	class := make([]int, len(splits)) // of each interval
	for _, in := range readers {
		next, count := map[int]int{}, 0 // twice the class, and one more where the instruction reads it
		for i, r := range splits {
			half := 2 * class[i]
			if in.MatchRune(r) {
				half++
			}
			if _, known := next[half]; !known {
				next[half] = count
				count++
			}
			class[i] = next[half]
		}
	}
	return d.number(splits, d.apart(splits, class))
}

// apart divides classes whose runes differ in what they are at the border of a word or line.
func (d *determiner) apart(splits []rune, class []int) []int {
	numbers := map[[2]int]int{}
	for i, r := range splits {
		kind := 0
		switch {
		case r == '\n':
			kind = 1
		case d.words && syntax.IsWordChar(r):
			kind = 2
		}
		key := [2]int{class[i], kind}
		if _, known := numbers[key]; !known {
			numbers[key] = len(numbers)
		}
		class[i] = numbers[key]
	}
	return class
}

// number fills the tables of classes. It is not ok where there are more than a byte can number.
func (d *determiner) number(splits []rune, class []int) (ok bool) {
	for i, r := range splits {
		if class[i] > 255 {
			return false
		}
		if class[i] == len(d.starts) { // classes are numbered as they come
			d.starts = append(d.starts, r)
		}
		end := rune(utf8.RuneSelf)
		if i+1 < len(splits) {
			end = min(end, splits[i+1])
		}
		for c := r; c < end; c++ {
			d.classes[c] = uint8(class[i])
		}
		if n := len(d.wide); r >= utf8.RuneSelf && (n == 0 || d.wideOf[n-1] != uint8(class[i])) {
			d.wide, d.wideOf = append(d.wide, r), append(d.wideOf, uint8(class[i]))
		}
	}
	d.wide, d.wideOf = exact(d.wide), exact(d.wideOf)
	d.columns = uint16(len(d.starts))
	return true
}

// readers returns an instruction of each kind that reads a rune, and where the intervals of runes start that none of
// them tells apart.
func (d *determiner) readers() (readers []*syntax.Inst, splits []rune) {
	splits = []rune{0, '\n', '\n' + 1, utf8.RuneSelf}
	seen := map[reading]bool{}
	for i := range d.prog.Inst {
		in := &d.prog.Inst[i]
		switch in.Op {
		case syntax.InstEmptyWidth:
			d.words = d.words || syntax.EmptyOp(in.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
			d.lines = d.lines || syntax.EmptyOp(in.Arg)&syntax.EmptyBeginLine != 0
			continue
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		default:
			continue
		}
		key := reading{in.Op, in.Arg, len(in.Rune), unsafe.SliceData(in.Rune)}
		if seen[key] {
			continue
		}
		seen[key] = true
		readers = append(readers, in)
		if splits = appendSplits(splits, in.Rune); len(splits) > 4*maxDFASplits {
			break
		}
	}
	if d.words {
		splits = appendSplits(splits, []rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'})
	}
	slices.Sort(splits)
	return readers, slices.Compact(splits)
}

// appendSplits appends where intervals start because of an instruction's runes: a single one, with what it folds to, or
// pairs of first and last.
func appendSplits(splits, runes []rune) []rune {
	if len(runes) == 1 {
		splits = append(splits, runes[0], runes[0]+1)
		for r := unicode.SimpleFold(runes[0]); r != runes[0]; r = unicode.SimpleFold(r) {
			splits = append(splits, r, r+1)
		}
		return splits
	}
	for i := 1; i < len(runes); i += 2 {
		splits = append(splits, runes[i-1], runes[i]+1)
	}
	return splits
}
