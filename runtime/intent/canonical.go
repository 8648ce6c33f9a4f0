package intent

import (
	"crypto/sha256"
	"slices"
	"strconv"

	"bailiff/runtime/jcs"
	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/slot"
)

// HashVersion is the version of the canonical form, which is part of it: hashes of different versions are never equal.
const HashVersion = 2

// Canonical appends the RFC 8785 form of {`agentId`, `chainId`, `intent`, `v`} to dst (decisions, section 4), where `v` is
// [HashVersion]. It is that of the request after normalisation, for which the tokens of the policy are needed:
//
//   - `action`, `amount` and `to` are in `intent`, and `arguments` beside `metadata`, wherever they were sent;
//   - every text has the normal form of its field; one that has none stays as it was sent;
//   - an amount is in base units, without `amount_unit`; one that has no rule, or is none of its unit, stays as it was sent;
//   - what is derived is left out even where it was sent: `host`, `path` and `query` beside `url`, and
//     metadata.serverId and metadata.toolName of an MCP action;
//   - so are `task_id`, `maxFee` and metadata.model_usage, and `metadata` where nothing is left in it.
//
// White space, the order of members and the spelling of strings and numbers make no difference.
func (in *Intent) Canonical(tokens *Tokens, dst []byte) []byte {
	in.tokens = tokens
	dst = append(dst, `{"agentId":`...)
	dst = in.appendNode(dst, in.at[slot.AgentID])
	if in.Has(slot.ChainID) {
		dst = append(dst, `,"chainId":`...)
		dst = in.appendNode(dst, in.at[slot.ChainID])
	}
	dst = append(dst, `,"intent":{`...)
	start := len(dst)
	for _, f := range canonicalOrder {
		if !in.shown(f) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = jcs.AppendString(dst, in.canonicalName(f))
		dst = append(dst, ':')
		dst = in.appendField(dst, f)
	}
	dst = append(dst, `},"v":`...)
	return append(strconv.AppendUint(dst, HashVersion, 10), '}')
}

// canonicalName returns the name of f in the canonical form. Several paths keep theirs; it has the same place in the order.
func (in *Intent) canonicalName(f slot.Field) string {
	if f == slot.Path && in.kind(slot.Path) == vm.List {
		f = slot.Paths
	}
	return f.String()
}

// Hash returns the intent hash: the SHA-256 of the canonical form. It allocates nothing once the decoder is warm.
func (in *Intent) Hash(tokens *Tokens) [sha256.Size]byte {
	in.form = in.Canonical(tokens, in.form[:0])
	return sha256.Sum256(in.form)
}

// shown reports whether the canonical form shows the field f of `intent`.
func (in *Intent) shown(f slot.Field) bool {
	switch f {
	case slot.Host, slot.Path, slot.Query:
		return in.Has(f) && !in.Has(slot.URL)
	case slot.Metadata:
		return in.Has(f) && in.anyShown(in.at[f])
	case slot.AmountUnit: // which says something of an amount that could not be put into its one unit
		return in.Has(f) && in.Has(slot.Amount) && !in.inHumanUnits()
	}
	return in.Has(f)
}

// AmountSent returns how the intent wrote the amount that [Intent.Canonical] shows in base units, with its unit where it has one; empty
// where there is none in base units.
func (in *Intent) AmountSent(tokens *Tokens) string {
	if _, ok := in.amountBase(tokens); !ok {
		return ""
	}
	sent := strconv.Quote(in.Text(slot.Amount))
	if in.Has(slot.AmountUnit) {
		sent += ", in amount_unit " + strconv.Quote(in.Text(slot.AmountUnit))
	}
	return sent
}

// appendField appends the value of a field: the normal forms of its texts.
func (in *Intent) appendField(dst []byte, f slot.Field) []byte {
	if f == slot.Amount {
		if value, ok := in.amountBase(in.tokens); ok {
			dst = append(dst, '"')
			dst = value.AppendFormat(dst, 0)
			return append(dst, '"')
		}
		return jcs.AppendString(dst, in.Text(slot.Amount))
	}
	as, at := in.formOf(f.Row()), in.at[f]
	if in.nodes[at].kind != vm.List {
		return in.appendText(dst, at, as)
	}
	dst = append(dst, '[')
	for i := at + 1; i < in.nodes[at].next; i = in.nodes[i].next {
		if i > at+1 {
			dst = append(dst, ',')
		}
		dst = in.appendText(dst, i, as)
	}
	return append(dst, ']')
}

// appendText appends a string in its normal form, or as it was sent where it has none, and any other value as it is.
func (in *Intent) appendText(dst []byte, at int32, as form.Form) []byte {
	if in.nodes[at].kind != vm.String {
		return in.appendNode(dst, at)
	}
	normal, ok := in.normal(as, in.nodes[at].text)
	if !ok {
		normal = in.nodes[at].text
	}
	return jcs.AppendString(dst, normal)
}

// anyShown reports whether anything is left in metadata.
func (in *Intent) anyShown(metadata int32) bool {
	for i := metadata + 1; i < in.nodes[metadata].next; i = in.nodes[i].next {
		if !in.leftOut(metadata, i) {
			return true
		}
	}
	return false
}

// leftOut reports whether a member is one of those of metadata that say nothing about the intent.
func (in *Intent) leftOut(object, member int32) bool {
	if object != in.at[slot.Metadata] {
		return false
	}
	name := in.nodes[member].name
	return name == modelUsage || name == slot.Arguments.String() || in.server != "" && (name == slot.ServerID || name == slot.ToolName)
}

// appendNode appends the canonical form of a node.
func (in *Intent) appendNode(dst []byte, at int32) []byte {
	switch n := &in.nodes[at]; n.kind {
	case vm.String:
		return in.appendText(dst, at, form.Text)
	case vm.Null:
		return append(dst, "null"...)
	case vm.List:
		return in.appendList(dst, at)
	case vm.Object:
		return in.appendObject(dst, at)
	default:
		return append(dst, n.text...)
	}
}

func (in *Intent) appendList(dst []byte, at int32) []byte {
	dst = append(dst, '[')
	for i := at + 1; i < in.nodes[at].next; i = in.nodes[i].next {
		if i > at+1 {
			dst = append(dst, ',')
		}
		dst = in.appendNode(dst, i)
	}
	return append(dst, ']')
}

// appendObject appends an object with its members in order. in.order is a stack: the members of the objects
// around this one lie below start.
func (in *Intent) appendObject(dst []byte, at int32) []byte {
	start := len(in.order)
	for i := at + 1; i < in.nodes[at].next; i = in.nodes[i].next {
		if !in.leftOut(at, i) {
			in.order = append(in.order, i)
		}
	}
	end := len(in.order)
	slices.SortFunc(in.order[start:], func(a, b int32) int {
		return compareNames(in.nodes[a].name, in.nodes[b].name)
	})
	dst = append(dst, '{')
	for k := start; k < end; k++ {
		if k > start {
			dst = append(dst, ',')
		}
		member := in.order[k]
		dst = jcs.AppendString(dst, in.nodes[member].name)
		dst = append(dst, ':')
		dst = in.appendNode(dst, member)
	}
	in.order = in.order[:start]
	return append(dst, '}')
}

// compareNames orders names by their UTF-16 code units (RFC 8785, section 3.2.3). That is the order of their bytes,
// but for characters beyond U+FFFF: these are surrogates, which come before U+E000 to U+FFFF.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		switch {
		case x == y:
			continue
		case x >= 0xf0 && (y == 0xee || y == 0xef):
			return -1
		case y >= 0xf0 && (x == 0xee || x == 0xef):
			return 1
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}
