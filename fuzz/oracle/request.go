package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Sender is what the service knows of a request beside its body.
type Sender struct {
	// Shim says that the key's provenance is `shim`.
	Shim bool
	// IntegersAreBase is SVC_INTEGER_AMOUNTS=base: "the service reads amounts without a point as base units".
	IntegersAreBase bool
}

// A request is a body as it was sent. The oracle decodes it by itself, because the service's decoder overwrites texts by
// their normal forms, and "`deny_string` and `deny_if` … read the text as sent besides".
type request struct{ top, inner map[string]any }

// readRequest reads a body that the service's decoder accepts: what that refuses (duplicate keys, invalid UTF-8 and the
// like) is not looked for again.
func readRequest(body []byte) (request, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var r request
	if err := decoder.Decode(&r.top); err != nil {
		return r, fmt.Errorf("oracle: the body is not an object: %w", err)
	}
	r.inner, _ = r.top["intent"].(map[string]any)
	return r, nil
}

// The fields of a request by place (decisions, section 3). `action`, `amount` and `to` "may stand at the top level
// instead of in `intent`".
var (
	topFields    = strings.Fields("framework agentId txCommit userOpHash chainId context request_nonce")
	innerFields  = strings.Fields(`targetAddress token amount_unit maxFee task_id command cwd path paths url method host query calldata`)
	eitherFields = strings.Fields("action amount to")
)

// field returns a field as it was sent, without `arguments` and `metadata`, which tree returns.
func (r request) field(name string) value {
	if slices.Contains(topFields, name) {
		return valueOf(r.top[name])
	}
	if v := valueOf(r.inner[name]); v.kind != missingKind || !slices.Contains(eitherFields, name) {
		return v
	}
	return valueOf(r.top[name])
}

// tree returns the fields that hold other values: "`arguments` and `metadata.arguments` are one field, canonical under
// `arguments`".
func (r request) tree(name string) value {
	v := valueOf(r.inner[name])
	metadata, _ := r.inner["metadata"].(map[string]any)
	switch {
	case name == "arguments" && v.kind == missingKind:
		return valueOf(metadata["arguments"])
	case name == "metadata" && metadata != nil:
		others := map[string]any{}
		for key, member := range metadata {
			if key != "arguments" {
				others[key] = member
			}
		}
		return valueOf(others)
	}
	return v
}

// argumentsDiffer: "Two places for one field are compared by normal form; different is a 400."
func (r request) argumentsDiffer() bool {
	metadata, _ := r.inner["metadata"].(map[string]any)
	one, other := valueOf(r.inner["arguments"]), valueOf(metadata["arguments"])
	return one.kind != missingKind && other.kind != missingKind && !sameValue(one, other)
}

// sameValue compares two values by their normal forms.
func sameValue(a, b value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case objectKind:
		one, other := a.node.(map[string]any), b.node.(map[string]any)
		for name := range one {
			if _, ok := other[name]; !ok || !sameValue(valueOf(one[name]), valueOf(other[name])) {
				return false
			}
		}
		return len(one) == len(other)
	case listKind:
		one, other := a.elements(), b.elements()
		for i := range one {
			if len(one) != len(other) || !sameValue(one[i], other[i]) {
				return false
			}
		}
		return len(one) == len(other)
	}
	return lowerLiterals(a.text) == lowerLiterals(b.text)
}

// numberText is the text of a number in RFC 8785, which is that of ECMAScript: the shortest digits that the double is
// read back from, with an exponent below 10^-6 and from 10^21 on. Minus zero is 0.
func numberText(n json.Number) string {
	double, err := n.Float64()
	if err != nil || double == 0 {
		if err == nil {
			return "0"
		}
		return n.String()
	}
	if size := math.Abs(double); size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(double, 'f', -1, 64)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(double, 'e', -1, 64), "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}
