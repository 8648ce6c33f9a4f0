package intent

import (
	"cmp"

	"bailiff/runtime/code"
	"bailiff/vm"
)

// Options are the settings of the service that change how a request is read.
type Options struct {
	// IntegerAmountsBase reads amounts without a point as base units (SVC_INTEGER_AMOUNTS=base).
	IntegerAmountsBase bool
}

// A Decoder reads requests, one after the other, and reuses its memory: for a typical body it allocates nothing.
// It is not safe for concurrent use; callers keep a pool of decoders.
type Decoder struct {
	reader reader
	intent Intent
}

// NewDecoder returns a decoder.
func NewDecoder(options Options) *Decoder {
	return &Decoder{intent: Intent{options: options}}
}

// Decode reads the body of an authorize or test-run request. The intent, and every text taken from it, belongs
// to the decoder and is valid until the next call; body itself is copied. The error, if any, is an *Error.
func (d *Decoder) Decode(body []byte) (*Intent, error) {
	in := &d.intent
	if cap(in.body) > keptBytes {
		d.reader = reader{} // the tokenizer keeps memory, too
	}
	in.reset()
	if len(body) > MaxBody {
		return nil, refuse(code.BodyTooLarge, "", "the body is larger than 100,000 bytes; send less")
	}
	if err := d.reader.read(&in.tape, body); err != nil {
		return nil, err
	}
	if err := in.assign(); err != nil {
		return nil, err
	}
	for _, step := range steps {
		if err := step(in); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// steps are the checks of a request whose fields are known, in order. The order decides which of several errors
// is answered.
var steps = [...]func(*Intent) *Error{
	(*Intent).checkFields,
	(*Intent).checkPresence,
	(*Intent).checkCommitment,
	(*Intent).checkWeb,
	(*Intent).checkMCP,
	(*Intent).checkUsage,
}

// places says at which node each field stands, 0 where it does not: node 0 is the body.
type places [fieldCount]int32

// assign finds the fields on the tape and makes sure that there are no others.
func (in *Intent) assign() *Error {
	var top, inside places
	if err := in.members(0, Top, topNames, &top); err != nil {
		return err
	}
	if at := top[IntentObject]; at != 0 {
		if err := in.members(at, Inside, insideNames, &inside); err != nil {
			return err
		}
	}
	for _, f := range [...]Field{Action, Amount, To} {
		if top[f] != 0 && inside[f] != 0 && !in.same(top[f], inside[f]) {
			return invalid(in.path(f, Top), "differs from "+in.path(f, Inside)+"; send it once")
		}
	}
	for f := range in.at {
		in.at[f] = inside[f]
		if in.at[f] == 0 {
			in.at[f], in.atTop[f] = top[f], true
		}
	}
	return nil
}

// members enters the members of one object into at.
func (in *Intent) members(object int32, place Place, names *nameIndex, at *places) *Error {
	for i := object + 1; i < in.nodes[object].next; i = in.nodes[i].next {
		n := &in.nodes[i]
		f := names.find(n.name)
		if f == NoField {
			return invalid(prefix(place)+n.name, "is no field of a request; "+hint(n.name, place))
		}
		if problem := in.checkType(i, table[f].Type); problem != "" {
			return invalid(in.path(f, place), problem)
		}
		at[f] = i
	}
	return nil
}

// checkType returns what is wrong with the type of a field's value, or "".
func (in *Intent) checkType(i int32, accepted Type) string {
	switch n := &in.nodes[i]; n.kind {
	case vm.String:
		if accepted&Text != 0 {
			return ""
		}
	case vm.Number:
		if accepted&Integer != 0 && isInteger(n.text) {
			return ""
		}
	case vm.Object:
		if accepted&Members != 0 {
			return ""
		}
	case vm.List:
		if accepted&Texts != 0 && in.allStrings(i) {
			return ""
		}
	case vm.Null:
		return "is null; it must be of type " + accepted.String() + ", or, where it need not be there, be left out"
	}
	return "must be of type " + accepted.String()
}

// allStrings reports whether every element of a list is a string.
func (in *Intent) allStrings(list int32) bool {
	for i := list + 1; i < in.nodes[list].next; i++ {
		if in.nodes[i].kind != vm.String {
			return false
		}
	}
	return true
}

// same reports whether two values without objects in them are the same.
func (in *Intent) same(a, b int32) bool {
	size := in.nodes[a].next - a
	if size != in.nodes[b].next-b {
		return false
	}
	for k := range size {
		x, y := &in.nodes[a+k], &in.nodes[b+k]
		if x.kind != y.kind || x.text != y.text {
			return false
		}
	}
	return true
}

// checkFields runs the checks of the table and puts normal forms on the tape.
func (in *Intent) checkFields() *Error {
	for f := NoField + 1; f < fieldCount; f++ {
		if in.at[f] == 0 || table[f].check == nil {
			continue
		}
		for i := in.at[f]; i < in.nodes[in.at[f]].next; i++ {
			if in.nodes[i].kind == vm.List {
				continue
			}
			normal, problem := table[f].check(in.nodes[i].text)
			if problem != "" {
				return refuse(cmp.Or(table[f].refusal, code.ValidationSchema), in.fieldPath(f), quote(in.nodes[i].text)+" "+problem)
			}
			in.nodes[i].text = normal
		}
	}
	in.action = in.lower(in.Text(Action))
	return nil
}

// checkPresence makes sure that nothing required is missing. The fields of which one is needed are judged by
// checkCommitment.
func (in *Intent) checkPresence() *Error {
	for f := NoField + 1; f < fieldCount; f++ {
		if table[f].Presence == Required && in.at[f] == 0 {
			return invalid(in.path(f, table[f].Place), "is missing; send a "+table[f].Type.String()+": "+table[f].Bound)
		}
	}
	return nil
}

// checkCommitment makes sure that the intent commits to one thing: a transaction, or a user operation.
func (in *Intent) checkCommitment() *Error {
	const userOp = "erc4337.userop"
	switch tx, op := in.Has(TxCommit), in.Has(UserOpHash); {
	case tx && op:
		return invalid("userOpHash", "stands beside txCommit; send exactly one of the two")
	case op && in.action != userOp:
		return invalid("userOpHash", "goes with the action "+userOp+" only; send txCommit instead")
	case !tx && !op && in.action == userOp:
		return invalid("userOpHash", "is missing; send 0x and 64 hexadecimal digits, or txCommit")
	case !tx && !op:
		return invalid("txCommit", "is missing; send the SHA-256 in 64 lower-case hexadecimal digits (with the action "+userOp+": or userOpHash)")
	}
	return nil
}

// path returns the path of f as messages show it.
func (in *Intent) path(f Field, place Place) string { return prefix(place) + table[f].Name }

// fieldPath returns the path at which f stands in the request.
func (in *Intent) fieldPath(f Field) string {
	if in.atTop[f] {
		return in.path(f, Top)
	}
	return in.path(f, Inside)
}

func prefix(place Place) string {
	if place&Inside != 0 {
		return "intent."
	}
	return ""
}
