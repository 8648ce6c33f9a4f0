package intent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"bailiff/fuzz/kit/seed"
	"bailiff/vm/form/evmaddr"

	"github.com/gowebpki/jcs"
)

func utf16Of(text string) []uint16 { return utf16.Encode([]rune(text)) }

// naive is a second validator, written without a table, a tape or a tokenizer: it says whether a request that is
// a tree already follows the schema. checksummed is the one address in mixed case that it knows to be right.
func naive(request object) error {
	top := "framework agentId txCommit userOpHash chainId context request_nonce intent action amount to"
	if err := naiveKeys(request, top); err != nil {
		return err
	}
	inside := object{}
	if value, ok := request["intent"]; ok {
		if inside, ok = value.(object); !ok {
			return errors.New("intent is no object")
		}
	}
	names := "action targetAddress token amount amount_unit to task_id command cwd path paths url method host query calldata arguments metadata"
	if err := naiveKeys(inside, names); err != nil {
		return err
	}
	fields := maps.Clone(inside)
	for name, value := range request {
		if held, ok := fields[name]; ok && !naiveSame(name, held, value) {
			return errors.New("two values of " + name)
		}
		fields[name] = value
	}
	for _, check := range []func(object) error{naiveTypes, naiveTexts, naiveRequired, naivePathList, naiveWeb, naiveMetadata} {
		if err := check(fields); err != nil {
			return err
		}
	}
	return naiveNumbers(request)
}

// naiveSame compares the values of two places: case says nothing of an action or an address, nor zeros of an amount.
func naiveSame(name string, a, b any) bool {
	x, isText := a.(string)
	y, isOther := b.(string)
	switch {
	case isText && isOther && name == "action":
		return strings.EqualFold(x, y)
	case isText && isOther && name == "amount" && decimalForm.MatchString(x) && decimalForm.MatchString(y):
		p, _ := new(big.Rat).SetString(x)
		q, _ := new(big.Rat).SetString(y)
		return p.Cmp(q) == 0
	}
	return naiveJSON(a) == naiveJSON(b)
}

var decimalForm = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// naiveJSON returns a tree in a form that only equal ones share.
func naiveJSON(tree any) string {
	text, err := json.Marshal(tree)
	if err != nil {
		return err.Error()
	}
	if canonical, err := jcs.Transform(text); err == nil {
		text = canonical
	}
	return evmaddr.FoldLiterals(string(text))
}

func naiveKeys(tree object, known string) error {
	for name := range tree {
		if !slices.Contains(strings.Fields(known), name) {
			return errors.New("unknown " + name)
		}
	}
	return nil
}

func naiveTypes(fields object) error {
	for name, value := range fields {
		var ok bool
		switch name {
		case "chainId":
			number, isNumber := value.(json.Number)
			float, err := number.Float64()
			ok = isNumber && err == nil && slices.Contains([]float64{1, 10, 56, 137, 999, 8453, 42161}, float)
		case "intent", "metadata", "arguments":
			_, ok = value.(object)
		case "paths":
			list, isList := value.([]any)
			ok = isList && len(list) > 0 && len(list) <= 256 && !slices.ContainsFunc(list, func(e any) bool { _, isText := e.(string); return !isText })
		case "to":
			if list, isList := value.([]any); isList {
				ok = !slices.ContainsFunc(list, func(e any) bool { _, isText := e.(string); return !isText })
			} else {
				_, ok = value.(string)
			}
		default:
			_, ok = value.(string)
		}
		if !ok {
			return fmt.Errorf("type of %s", name)
		}
	}
	return nil
}

const checksummed = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

var forms = map[string]*regexp.Regexp{
	"framework":     regexp.MustCompile(`^[a-z0-9-]{1,64}$`),
	"agentId":       regexp.MustCompile(`^[^\x00-\x1f\x7f-\x{9f}]{1,256}$`),
	"txCommit":      regexp.MustCompile(`^[0-9a-f]{64}$`),
	"userOpHash":    regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`),
	"request_nonce": regexp.MustCompile(`^(?s:.{0,64})$`),
	"action":        regexp.MustCompile(`^[!-~]{1,128}$`),
	"cwd":           regexp.MustCompile(`^([A-Za-z]:)?[/\\]`),
	"targetAddress": regexp.MustCompile(`^0x([0-9a-f]{40}|[0-9A-F]{40})$|^` + checksummed + `$`),
	"token":         regexp.MustCompile(`^0x([0-9a-f]{40}|[0-9A-F]{40})$|^` + checksummed + `$|^(?s:[^0].*|0|0[^xX].*)$`),
	"amount_unit":   regexp.MustCompile(`^base$`),
	"task_id":       regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`),
	"method":        regexp.MustCompile(`^(GET|HEAD|OPTIONS|POST|PUT|PATCH|DELETE)$`),
	"calldata":      regexp.MustCompile(`^0x([0-9a-fA-F]{2})*$`),
}

var addressForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

func naiveTexts(fields object) error {
	for name, form := range forms {
		if text, ok := fields[name].(string); ok && !form.MatchString(text) {
			return fmt.Errorf("form of %s", name)
		}
	}
	recipients, _ := fields["to"].([]any)
	for _, recipient := range append(recipients[:len(recipients):len(recipients)], fields["to"]) {
		text, _ := recipient.(string)
		if addressForm.MatchString(text) && !forms["targetAddress"].MatchString(text) {
			return errors.New("checksum of to")
		}
	}
	return nil
}

func naiveRequired(fields object) error {
	for _, name := range []string{"framework", "agentId", "action"} {
		if _, ok := fields[name]; !ok {
			return errors.New("no " + name)
		}
	}
	_, tx := fields["txCommit"]
	_, op := fields["userOpHash"]
	if tx == op || op && strings.ToLower(fields["action"].(string)) != "erc4337.userop" {
		return errors.New("commitment")
	}
	return nil
}

func naivePathList(fields object) error {
	if fields["paths"] == nil {
		return nil
	}
	_, path := fields["path"]
	_, url := fields["url"]
	if action := strings.ToLower(fields["action"].(string)); path || url || action != "file_write" && action != "file_read" {
		return errors.New("place of paths")
	}
	return nil
}

func naiveWeb(fields object) error {
	action := strings.ToLower(fields["action"].(string))
	raw, hasURL := fields["url"].(string)
	_, hasMethod := fields["method"]
	if action == "http" && !(hasURL && hasMethod) || action == "web_fetch" && hasMethod {
		return errors.New("form of " + action)
	}
	if !hasURL {
		return nil
	}
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || strings.ContainsAny(raw, " \\") {
		return errors.New("url")
	}
	for segment := range strings.SplitSeq(parsed.Path, "/") {
		if segment == "." || segment == ".." {
			return errors.New("dot segment")
		}
	}
	for name, want := range map[string]string{"host": parsed.Host, "path": parsed.Path, "query": parsed.RawQuery} {
		if sent, ok := fields[name]; ok && sent != want {
			return errors.New(name + " beside url")
		}
	}
	return nil
}

func naiveMetadata(fields object) error {
	metadata, _ := fields["metadata"].(object)
	if inner, ok := metadata["arguments"]; ok && fields["arguments"] != nil && naiveJSON(inner) != naiveJSON(fields["arguments"]) {
		return errors.New("two arguments")
	}
	if action := strings.ToLower(fields["action"].(string)); strings.HasPrefix(action, "mcp.") {
		parts := strings.SplitN(action, ".", 3)
		if len(parts) < 3 || parts[1] == "" || parts[2] == "" {
			return errors.New("form of an MCP action")
		}
		for name, want := range map[string]string{"serverId": parts[1], "toolName": parts[2]} {
			if sent, ok := metadata[name]; ok {
				if text, isText := sent.(string); !isText || strings.ToLower(text) != want {
					return errors.New(name)
				}
			}
		}
	}
	sent, ok := metadata["model_usage"]
	if !ok {
		return nil
	}
	usage, ok := sent.(object)
	if !ok {
		return errors.New("model_usage")
	}
	return naiveUsage(usage)
}

// spendForm need not bound the value: no sample comes near 2^256.
var spendForm = regexp.MustCompile(`^[0-9]+(\.[0-9]{1,18})?$`)

func naiveUsage(usage object) error {
	for name, value := range usage {
		var ok bool
		switch name {
		case "provider", "model":
			_, ok = value.(string)
		case "input_tokens", "output_tokens", "total_tokens":
			number, isNumber := value.(json.Number)
			float, err := number.Float64()
			ok = isNumber && err == nil && float >= 0 && float == math.Trunc(float)
		case "estimated_spend_usd":
			text, _ := value.(string)
			ok = spendForm.MatchString(text) && len(text) <= 128
		default:
			ok = true
		}
		if !ok {
			return errors.New("model_usage." + name)
		}
	}
	return nil
}

// naiveNumbers holds every number of a tree to be exactly its shortest text, and within ±(2^53−1).
func naiveNumbers(tree any) error {
	switch tree := tree.(type) {
	case object:
		for _, value := range tree {
			if err := naiveNumbers(value); err != nil {
				return err
			}
		}
	case []any:
		for _, value := range tree {
			if err := naiveNumbers(value); err != nil {
				return err
			}
		}
	case json.Number:
		float, err := tree.Float64()
		sent, _ := new(big.Rat).SetString(tree.String())
		shortest, _ := new(big.Rat).SetString(strconv.FormatFloat(float, 'g', -1, 64))
		if err != nil || math.Abs(float) > 1<<53-1 || sent.Cmp(shortest) != 0 {
			return errors.New("number " + tree.String())
		}
	}
	return nil
}

// disagreement returns how decode and the naive validator differ over a body, or "".
func disagreement(decode func([]byte) error, body []byte) string {
	tokens := json.NewDecoder(bytes.NewReader(body))
	tokens.UseNumber()
	var request object
	if err := tokens.Decode(&request); err != nil {
		return err.Error()
	}
	want, got := naive(request), decode(body)
	if (want == nil) == (got == nil) {
		return ""
	}
	return fmt.Sprintf("%s\nthe decoder says %v, the schema %v", body, got, want)
}

// values are what mutations put in place of what was there.
var values = []any{nil, true, 0.0, -1.0, 1.5, 8453.0, json.Number("9007199254740993"), json.Number("0.10"), json.Number("2.0"), "", "x", "base",
	"GET", "http", "web_fetch", "HTTP", "mcp.a.b", "mcp.a", "mcp.A.b.c", "erc4337.userop", "ERC4337.UserOp", "bash", "file_write", "File_Read", "a b", "\x00", "é",
	strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("b", 129), strings.Repeat("é", 256), strings.Repeat("c", 257),
	strings.Repeat("0", 64), "0x" + strings.Repeat("A", 64), "0x" + strings.Repeat("a", 40), "0x" + strings.Repeat("B", 40),
	checksummed, strings.Replace(checksummed, "fCD", "fcd", 1), "0x", "0X12", "0x123", "0xAb", "https://example.com/a?b=c",
	"http://example.com", "ftp://example.com/", "https:///a", "https://exa mple.com/", "example.com", "/a", `\a`, `c:\a`, "c:a", "https://example.com/a/%2E./b", "b=c", "1.0",
	"0.0000000000000000001", "A", "b.c", []any{}, []any{"x"}, []any{"x", 1.0}, []any{"x", "y"}, slices.Repeat([]any{"x"}, 256), slices.Repeat([]any{"x"}, 257), []any{checksummed, "y"}, []any{nil}, object{}, object{"a": nil},
	object{"model_usage": object{}}, object{"serverId": "a", "toolName": "B"}, object{"serverId": "a", "toolName": "b.c"}}

var keys = strings.Fields("framework agentId txCommit userOpHash chainId context request_nonce intent action targetAddress token " +
	"amount amount_unit to task_id command cwd path paths paths url method host query calldata arguments metadata model_usage serverId toolName " +
	"provider total_tokens input_tokens estimated_spend_usd Action INTENT agent_id unknown action action action method method")

// mutate changes a few members of a request, at any of its three levels.
func mutate(rng *rand.Rand, request object) {
	for range 1 + rng.Intn(3) {
		target := request
		for _, name := range []string{"intent", "metadata", "model_usage"} {
			if inner, ok := target[name].(object); ok && rng.Intn(3) > 0 {
				target = inner
			}
		}
		key := keys[rng.Intn(len(keys))]
		if rng.Intn(4) == 0 {
			delete(target, key)
			continue
		}
		target[key] = copied(values[rng.Intn(len(values))])
	}
}

// copied returns a copy of a tree whose objects can be changed.
func copied(tree any) any {
	members, ok := tree.(object)
	if !ok {
		return tree
	}
	fresh := object{}
	for name, value := range members {
		fresh[name] = copied(value)
	}
	return fresh
}

// sample returns a fresh valid request to mutate.
func sample(rng *rand.Rand) object {
	inside := []object{
		{"action": "http", "url": "https://example.com/a?b=c", "method": "GET", "metadata": object{"model_usage": object{"total_tokens": 1.0}}},
		{"action": "web_fetch", "url": "http://example.com/"},
		{"action": "wallet.transfer", "amount": "1", "token": "USDC", "targetAddress": checksummed, "to": checksummed},
		{"action": "mcp.a.b", "metadata": object{"serverId": "A", "x": object{"y": []any{}}}, "arguments": object{}},
		{"action": "bash", "command": "ls", "task_id": "t"},
		{"action": "file_write", "path": "a", "cwd": "/b"},
		{"action": "file_read", "paths": []any{"a", "b"}, "cwd": "/b"},
	}[rng.Intn(7)]
	request := object{"framework": "f", "agentId": "a", "txCommit": strings.Repeat("0", 64), "intent": inside}
	if rng.Intn(6) == 0 {
		delete(request, "txCommit")
		request["userOpHash"], inside["action"] = "0x"+strings.Repeat("a", 64), "erc4337.userop"
	}
	return request
}

// search runs the comparison over n mutated requests and returns the first disagreement, and how many were valid.
func search(t *testing.T, rng *rand.Rand, n int, decode func([]byte) error) (found string, valid int) {
	for range n {
		request := sample(rng)
		if rng.Intn(20) > 0 {
			mutate(rng, request)
		}
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		if found = disagreement(decode, body); found != "" {
			return found, valid
		}
		if decode(body) == nil {
			valid++
		}
	}
	return "", valid
}

// TestSchema: the decoder accepts what the schema accepts, and nothing else.
func TestSchema(t *testing.T) {
	rng := rand.New(rand.NewSource(seed.Value(t)))
	decoder := NewDecoder(Options{})
	found, valid := search(t, rng, 30_000, func(body []byte) error {
		_, err := decoder.Decode(body)
		return err
	})
	if found != "" {
		t.Fatal(found)
	}
	if valid < 1000 || valid > 29_000 {
		t.Errorf("%d of 30000 requests were valid, which tests one side only", valid)
	}
}

// TestSchemaCanary plants faults into the decoder and expects the search of TestSchema to find each.
func TestSchemaCanary(t *testing.T) {
	for _, fault := range []string{"is not a field of a request", "is null", "is not a supported chain",
		"differs from the action", "EIP-55", "together with path", "together with url", "goes with the actions file_write", "at most 256", "is empty", "web_fetch has no method", "differs from intent.action", "is not exactly a double"} {
		decoder := NewDecoder(Options{})
		found, _ := search(t, rand.New(rand.NewSource(1)), 90_000, func(body []byte) error {
			if _, err := decoder.Decode(body); err != nil && !strings.Contains(err.Error(), fault) {
				return err
			}
			return nil
		})
		if found == "" {
			t.Errorf("nobody noticed a decoder that does not refuse what %s", fault)
		}
	}
}
