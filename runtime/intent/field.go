package intent

import (
	"cmp"
	"slices"
	"strings"

	"bailiff/grammar"
	"bailiff/vm/slot"
)

// maxName is the length of the longest field name in bytes.
const maxName = 13

// The names of each place by their length, which tells nearly all of them apart.
var (
	topNames    = indexNames(slot.Top)
	insideNames = indexNames(slot.Inside)
)

type nameIndex [maxName + 1][]slot.Field

func indexNames(place slot.Place) *nameIndex {
	index := new(nameIndex)
	for _, row := range slot.Fields() {
		if row.Place&place != 0 {
			index[len(row.Name)] = append(index[len(row.Name)], row.Field)
		}
	}
	return index
}

// find returns the field that name names, or slot.NoField. Names are case-sensitive.
func (index *nameIndex) find(name string) slot.Field {
	if len(name) > maxName {
		return slot.NoField
	}
	for _, f := range index[len(name)] {
		if f.String() == name {
			return f
		}
	}
	return slot.NoField
}

// hint returns the field that the author of the unknown name probably meant, or slot.NoField, and advice as a sentence's end.
func hint(name string, place slot.Place) (meant slot.Field, advice string) {
	for f := slot.NoField + 1; f < slot.Count; f++ {
		switch known := f.String(); {
		case known == name && place == slot.Top:
			return f, "it belongs into intent"
		case known == name:
			return f, "it belongs to the top level, outside of intent"
		case strings.EqualFold(known, name):
			return f, "did you mean " + known + "?"
		}
	}
	var names []string
	for _, row := range slot.Fields() {
		if row.Place&place != 0 {
			names = append(names, row.Name)
		}
	}
	if near := grammar.Closest(name, names); near != "" {
		return indexNames(place).find(near), "did you mean " + near + "?"
	}
	if place == slot.Inside {
		return slot.NoField, "put data of your own into intent.metadata"
	}
	return slot.NoField, "remove it, or put data of your own into intent.metadata"
}

// unhashed are the fields of `intent` that do not describe the action, or only how another field is written.
var unhashed = []slot.Field{slot.TaskID, slot.MaxFee}

// canonicalOrder holds the fields of `intent` that its canonical form may show, by name (RFC 8785, section 3.2.3).
var canonicalOrder = func() []slot.Field {
	var order []slot.Field
	for _, row := range slot.Fields() {
		if row.Place&slot.Inside != 0 && !slices.Contains(unhashed, row.Field) {
			order = append(order, row.Field)
		}
	}
	slices.SortFunc(order, func(a, b slot.Field) int { return cmp.Compare(a.String(), b.String()) })
	return order
}()
