package intent

import (
	"crypto/sha256"
	"slices"

	"bailiff/runtime/canonical"
	"bailiff/vm"
)

// Canonical appends the RFC 8785 form of {`agentId`, `chainId`, `intent`} to dst (decisions, section 4). It is that
// of the request after normalisation:
//
//   - `action`, `amount` and `to` stand in `intent`, wherever they were sent;
//   - addresses are in lower case;
//   - what is derived is left out even where it was sent: `host`, `path` and `query` beside `url`, and
//     metadata.serverId and metadata.toolName of an MCP action;
//   - so are `task_id` and metadata.model_usage, and `metadata` where nothing is left in it.
//
// White space, the order of members and the spelling of strings and numbers make no difference.
func (in *Intent) Canonical(dst []byte) []byte {
	dst = append(dst, `{"agentId":`...)
	dst = in.appendNode(dst, in.at[AgentID])
	if in.Has(ChainID) {
		dst = append(dst, `,"chainId":`...)
		dst = in.appendNode(dst, in.at[ChainID])
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
		dst = canonical.AppendString(dst, table[f].Name)
		dst = append(dst, ':')
		dst = in.appendNode(dst, in.at[f])
	}
	return append(dst, '}', '}')
}

// Hash returns the intent hash: the SHA-256 of the canonical form. It allocates nothing once the decoder is warm.
func (in *Intent) Hash() [sha256.Size]byte {
	in.form = in.Canonical(in.form[:0])
	return sha256.Sum256(in.form)
}

// shown reports whether the canonical form shows the field f of `intent`.
func (in *Intent) shown(f Field) bool {
	switch f {
	case Host, Path, Query:
		return in.Has(f) && !in.Has(URL)
	case Metadata:
		return in.Has(f) && in.anyShown(in.at[f])
	}
	return in.Has(f)
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
	if object != in.at[Metadata] {
		return false
	}
	name := in.nodes[member].name
	return name == modelUsage || in.server != "" && (name == serverID || name == toolName)
}

// appendNode appends the canonical form of a node.
func (in *Intent) appendNode(dst []byte, at int32) []byte {
	switch n := &in.nodes[at]; n.kind {
	case vm.String:
		return canonical.AppendString(dst, n.text)
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
		dst = canonical.AppendString(dst, in.nodes[member].name)
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
