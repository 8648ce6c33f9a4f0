package intent

import "bailiff/vm"

// Separator stands between the texts of @text. No valid UTF-8 holds it, so that nothing is found across a border.
const Separator = '\xff'

// derivedText joins every string value, keys excluded, in the order of the body.
func derivedText(in *Intent, _ Provenance) vm.Value {
	in.joined = in.joined[:0]
	for i := range in.nodes {
		if in.nodes[i].kind == vm.String {
			in.joined = append(append(in.joined, in.nodes[i].text...), Separator)
		}
	}
	return text(borrow(in.joined[:max(len(in.joined)-1, 0)]))
}

// TextAt returns the string value that holds the byte at offset of @text, and the path of it in the request
// ("intent.metadata.notes.2"). It reports false where offset is out of range or on a Separator.
func (in *Intent) TextAt(offset int) (path, value string, ok bool) {
	for i := range in.nodes {
		if in.nodes[i].kind != vm.String {
			continue
		}
		if value = in.nodes[i].text; offset < len(value) {
			return in.pathOf(int32(i)), value, offset >= 0
		}
		if offset -= len(value) + 1; offset < 0 {
			break
		}
	}
	return "", "", false
}
