package intent

import (
	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/slot"
)

// separator is between the texts of @text. No valid UTF-8 holds it, so that nothing is found across a border.
const separator = '\xff'

// A respelling is a text of @text that is in no string of the request as it is: a normal form, or a number.
type respelling struct {
	at   int32
	text string
}

// derivedText joins every string value, keys excluded, in the order of the body; behind them the normal forms that differ,
// texts without case in lower case, a web address with its path decoded, and the text of every number in arguments and metadata.
func derivedText(in *Intent, _ Provenance) vm.Value {
	in.joined, in.respelled = in.joined[:0], in.respelled[:0]
	for i := range in.nodes {
		if n := &in.nodes[i]; n.kind == vm.String {
			in.joinText(n.text)
			if len(n.text) >= evmaddr.Length {
				in.respell(int32(i), evmaddr.FoldLiterals(n.text))
			}
		}
	}
	in.respellFields()
	if in.Has(slot.URL) {
		in.respell(in.at[slot.URL], in.url.Decoded())
		in.respell(in.at[slot.URL], in.folded(form.Host, in.url.SentHost))
	}
	in.respellNumbers(in.at[slot.Arguments])
	in.respellNumbers(in.at[slot.Metadata])
	for _, one := range in.respelled {
		in.joinText(one.text)
	}
	return text(borrow(in.joined[:max(len(in.joined)-1, 0)]))
}

func (in *Intent) joinText(text string) {
	in.joined = append(append(in.joined, text...), separator)
}

// respell notes a normal form where it differs from the text of its node.
func (in *Intent) respell(at int32, normal string) {
	if normal != in.nodes[at].text {
		in.respelled = append(in.respelled, respelling{at, normal})
	}
}

// respellFields notes the normal forms of fields that have others than plain texts.
func (in *Intent) respellFields() {
	for f := range slot.Count {
		row := f.Row()
		if in.at[f] == 0 || row.Type.Object() || row.When == slot.Never && (row.Form == form.Text || normalised(row.Form)) {
			continue
		}
		as := in.formOf(row)
		for i := in.at[f]; i < in.nodes[in.at[f]].next; i++ {
			if n := &in.nodes[i]; n.kind == vm.String && as != form.Text {
				if normal, ok := in.normal(as, n.text); ok {
					in.respell(i, normal)
				}
				if as.Caseless() {
					in.respell(i, in.folded(as, n.text))
				}
			}
		}
	}
}

// respellNumbers notes the numbers below an object, but for those of model usage, which is no part of an intent.
func (in *Intent) respellNumbers(object int32) {
	if object == 0 {
		return
	}
	usage := in.member(in.at[slot.Metadata], modelUsage)
	for i := object; i < in.nodes[object].next; i++ {
		switch {
		case i == usage && usage != 0:
			i = in.nodes[i].next - 1
		case in.nodes[i].kind == vm.Number:
			in.respelled = append(in.respelled, respelling{i, in.nodes[i].text})
		}
	}
}

// derivedCaseless joins the normal forms that have no case, in the order of the table of fields.
func derivedCaseless(in *Intent, _ Provenance) vm.Value {
	in.caseless = in.caseless[:0]
	for f := range slot.Count {
		row := f.Row()
		as := in.formOf(row)
		if in.at[f] == 0 || !as.Caseless() {
			continue
		}
		for i := in.at[f]; i < in.nodes[in.at[f]].next; i++ {
			if n := &in.nodes[i]; n.kind == vm.String {
				in.appendCaseless(as, n.text)
			}
		}
	}
	if in.Has(slot.URL) && !in.Has(slot.Host) {
		in.appendCaseless(form.Host, in.url.SentHost)
	}
	return text(borrow(in.caseless[:max(len(in.caseless)-1, 0)]))
}

// appendCaseless appends a text in lower case, and its normal form where that is another one.
func (in *Intent) appendCaseless(as form.Form, sent string) {
	small := in.folded(as, sent)
	in.caseless = append(append(in.caseless, small...), separator)
	if normal, ok := in.normal(as, sent); ok && normal != small {
		in.caseless = append(append(in.caseless, normal...), separator)
	}
}

// TextAt returns the text that has the byte at offset of @text, and the path of its value in the request
// ("intent.metadata.notes.2"). It reports false where offset is out of range or on a Separator.
func (in *Intent) TextAt(offset int) (path, value string, ok bool) {
	for i := range in.nodes {
		if in.nodes[i].kind != vm.String {
			continue
		}
		if value = in.nodes[i].text; within(&offset, value) {
			return in.pathOf(int32(i)), value, offset >= 0
		}
	}
	for _, one := range in.respelled {
		if within(&offset, one.text) {
			return in.pathOf(one.at), one.text, offset >= 0
		}
	}
	return "", "", false
}

// within reports whether an offset lies in a text, or on the separator behind it, where it is -1; else it moves the offset
// to what follows.
func within(offset *int, text string) bool {
	if *offset < len(text) {
		return true
	}
	*offset -= len(text) + 1
	return *offset < 0
}
