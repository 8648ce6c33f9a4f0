package intent

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/vm/slot"
)

// TestSpelling: white space, the order of members, escapes and the spelling of numbers change neither a field, nor
// the canonical form, which is what another implementation of RFC 8785 makes of the same tree.
func TestSpelling(t *testing.T) {
	properties := gopter.NewProperties(seed.Parameters(t, 400))
	properties.Property("one request, one form", prop.ForAll(func(n int64) string {
		rng := rand.New(rand.NewSource(n))
		request := randomRequest(rng)
		want, err := expectedForm(request)
		if err != nil {
			return err.Error()
		}
		var fields [2]string
		for i := range fields {
			body := spell(rng, request)
			in, err := NewDecoder(Options{}).Decode([]byte(body))
			if err != nil {
				return fmt.Sprintf("%v: %s", err, body)
			}
			if got := string(in.Canonical(nil, nil)); got != want {
				return fmt.Sprintf("canonical form of %s:\n got %s\nwant %s", body, got, want)
			}
			fields[i] = showIntent(in)
		}
		if fields[0] != fields[1] {
			return fmt.Sprintf("fields differ:\n%s\n%s", fields[0], fields[1])
		}
		return ""
	}, gen.Int64()))
	properties.TestingRun(t)
}

type object = map[string]any

// randomRequest returns a valid request, with `action`, `amount` and `to` at either place.
func randomRequest(rng *rand.Rand) object {
	inside := object{"metadata": randomTree(rng, 4), "arguments": object{"k": randomTree(rng, 3)},
		"command": randomText(rng), "path": randomText(rng), "host": randomText(rng), "query": randomText(rng),
		"task_id": "task-1", "calldata": "0x00ff", "targetAddress": "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"}
	request := object{"framework": "f", "agentId": "a" + strings.Map(printableRune, randomText(rng)),
		"txCommit": strings.Repeat("0a", 32), "context": randomText(rng), "intent": inside}
	if rng.Intn(2) == 0 {
		request["chainId"] = []float64{1, 56, 8453, 42161}[rng.Intn(4)]
	}
	if _, ok := inside["metadata"].(object); !ok {
		inside["metadata"] = object{"model_usage": object{"total_tokens": 3.0}}
	}
	either := object{"action": "email.send", "amount": "1.5", "to": []any{"x@y.org", randomText(rng)}}
	for _, name := range []string{"action", "amount", "to"} {
		value, place := either[name], inside
		if rng.Intn(2) == 0 {
			place = request
		}
		place[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(inside)) {
		if name != "action" && rng.Intn(3) == 0 {
			delete(inside, name)
		}
	}
	return request
}

func printableRune(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return -1
	}
	return r
}

// expectedForm builds the canonical form with maps and another implementation of RFC 8785.
func expectedForm(request object) (string, error) {
	inside := object{}
	for name, value := range request["intent"].(object) {
		inside[name] = value
	}
	for _, name := range []string{"action", "amount", "to"} {
		if value, ok := request[name]; ok {
			inside[name] = value
		}
	}
	delete(inside, "task_id")
	normalise(inside)
	if metadata, ok := inside["metadata"].(object); ok {
		left := object{}
		for name, value := range metadata {
			if name != "model_usage" {
				left[name] = value
			}
		}
		if inside["metadata"] = left; len(left) == 0 {
			delete(inside, "metadata")
		}
	}
	form := object{"agentId": request["agentId"], "intent": inside, "v": 2}
	if chain, ok := request["chainId"]; ok {
		form["chainId"] = chain
	}
	text, err := json.Marshal(form)
	if err != nil {
		return "", err
	}
	canonical, err := jcs.Transform(text)
	return string(canonical), err
}

// normalise puts the texts of fields that have other forms than plain texts into them. The amount is native.
func normalise(inside object) {
	if inside["amount"] == "1.5" {
		inside["amount"] = "1500000000000000000"
	}
	for _, row := range []*slot.Row{slot.Host.Row(), slot.Path.Row()} {
		if text, ok := inside[row.Name].(string); ok {
			if normal, ok := row.Form.Normal(text); ok {
				inside[row.Name] = normal
			}
		}
	}
}

// randomTree returns a JSON value.
func randomTree(rng *rand.Rand, depth int) any {
	switch kind := rng.Intn(8); {
	case kind < 3 && depth > 0:
		members := object{}
		for range rng.Intn(6) {
			members[randomText(rng)] = randomTree(rng, depth-1)
		}
		return members
	case kind == 3 && depth > 0:
		elements := []any{}
		for range rng.Intn(4) {
			elements = append(elements, randomTree(rng, depth-1))
		}
		return elements
	case kind == 4:
		return []any{nil, true, false}[rng.Intn(3)]
	case kind == 5:
		return randomNumber(rng)
	}
	return randomText(rng)
}

func randomNumber(rng *rand.Rand) float64 {
	switch rng.Intn(4) {
	case 0:
		return float64(rng.Intn(2000) - 1000)
	case 1:
		return float64(rng.Int63n(1<<53)) * float64(1-2*rng.Intn(2))
	case 2:
		return rng.NormFloat64()
	}
	return rng.ExpFloat64() * 1e-300
}

// randomText prefers what sorts or escapes differently in UTF-8 and UTF-16.
func randomText(rng *rand.Rand) string {
	alphabet := []rune("ab\"\\/\b\n\x00\x1f\x7f\u0080\u00e9\u20ac\u2028\ud7ff\ue000\ufb33\uffff\U00010000\U0001f602\U0010ffff<")
	var text strings.Builder
	for range rng.Intn(5) {
		text.WriteRune(alphabet[rng.Intn(len(alphabet))])
	}
	return text.String()
}

// spell writes value as JSON in one of many ways.
func spell(rng *rand.Rand, value any) string {
	space := strings.Repeat([]string{" ", "\n", "\t", "\r"}[rng.Intn(4)], rng.Intn(2))
	switch value := value.(type) {
	case object:
		names := slices.Sorted(maps.Keys(value))
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, name := range names {
			names[i] = spellText(rng, name) + space + ":" + spell(rng, value[name])
		}
		return space + "{" + strings.Join(names, ","+space) + space + "}"
	case []any:
		parts := make([]string, len(value))
		for i := range value {
			parts[i] = spell(rng, value[i])
		}
		return "[" + space + strings.Join(parts, space+",") + "]" + space
	case string:
		return space + spellText(rng, value) + space
	case float64:
		return space + spellNumber(rng, value)
	case bool:
		return strconv.FormatBool(value) + space
	}
	return space + "null"
}

func spellText(rng *rand.Rand, text string) string {
	out := []byte{'"'}
	for _, r := range text {
		if r >= ' ' && r != '"' && r != '\\' && rng.Intn(3) > 0 {
			out = append(out, string(r)...)
			continue
		}
		if high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00; r > 0xffff {
			out = fmt.Appendf(out, `\u%04x\u%04X`, high, low)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return string(append(out, '"'))
}

func spellNumber(rng *rand.Rand, value float64) string {
	format := []byte{'g', 'e', 'f', 'E'}[rng.Intn(4)]
	text := strconv.FormatFloat(value, format, -1, 64)
	if !strings.ContainsAny(text, ".eE") && rng.Intn(2) == 0 {
		text += ".000"
	}
	return text
}

// TestCompareNames compares with the definition, over UTF-16 code units. The names must be such that an order by
// bytes would be found out.
func TestCompareNames(t *testing.T) {
	rng := rand.New(rand.NewSource(seed.Value(t)))
	telling := 0
	for range 20_000 {
		a, b := randomText(rng), randomText(rng)
		want := slices.Compare(utf16Of(a), utf16Of(b))
		if got := max(-1, min(1, compareNames(a, b))); got != want {
			t.Fatalf("%q, %q: %d, want %d", a, b, got, want)
		}
		if strings.Compare(a, b) != want {
			telling++
		}
	}
	if telling == 0 {
		t.Error("no pair of names tells the order of UTF-16 from that of bytes")
	}
}
