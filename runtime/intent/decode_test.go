package intent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"bailiff/vm"
	"bailiff/vm/slot"
)

// TestGolden shows what becomes of requests: `decode` prints fields, canonical form or the error; `slots` prints
// the values of the slots that are named in its arguments, with `shim` for a shim's key; `text` prints every string of @text with its path. A body
// that starts with "+" means the fields of shared and what follows; those are not printed again.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			decoder := NewDecoder(Options{IntegerAmountsBase: td.HasArg("base")})
			in, err := decoder.Decode([]byte(goldenBody(td.Input)))
			if err != nil {
				return showError(t, err)
			}
			switch td.Cmd {
			case "decode":
				return showIntent(in)
			case "slots":
				return showSlots(t, td, in)
			case "text":
				return showTexts(t, in)
			}
			t.Fatalf("unknown command %q", td.Cmd)
			return ""
		})
	})
}

// shared is what a body of the golden files has before what follows its "+".
const shared = `{"framework":"f","agentId":"a","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",`

func goldenBody(input string) string {
	if rest, ok := strings.CutPrefix(input, "+"); ok {
		return shared + rest + "}"
	}
	return input
}

func showError(t *testing.T, err error) string {
	t.Helper()
	var refusal *Error
	if !errors.As(err, &refusal) {
		t.Fatalf("%v is no *Error", err)
	}
	checkMessage(t, refusal)
	return fmt.Sprintf("%s\n%s\n", refusal.Code, refusal.Message)
}

// checkMessage holds an error to what the package promises about its text.
func checkMessage(t testing.TB, err *Error) {
	t.Helper()
	if len(err.Message) > maxMessage || !utf8.ValidString(err.Message) || strings.ContainsAny(err.Message, "\x00\r\n") {
		t.Fatalf("unfit message of %d bytes: %q", len(err.Message), err.Message)
	}
	if !strings.HasPrefix(err.Message, err.Field) {
		t.Fatalf("message %q does not start with the field %q", err.Message, err.Field)
	}
}

func showIntent(in *Intent) string {
	var out strings.Builder
	for _, row := range slot.Fields() {
		f := row.Field
		if f == slot.IntentObject || !in.Has(f) || strings.Contains(shared, `"`+f.String()+`":"`+in.Text(f)+`"`) {
			continue
		}
		switch n := in.Node(f); n.Kind() {
		case vm.Object:
			fmt.Fprintf(&out, "%s: object\n", f)
		case vm.List:
			fmt.Fprintf(&out, "%s: %v\n", f, collect(n))
		default:
			fmt.Fprintf(&out, "%s: %s %q\n", f, kindName(n.Kind()), n.Text())
		}
	}
	if in.AmountInBaseUnits() {
		out.WriteString("amount in base units\n")
	}
	if url, ok := in.WebURL(); ok {
		fmt.Fprintf(&out, "url parts: %q %q %q\n", url.Host, url.Path, url.Query)
	}
	if server, tool, ok := in.MCP(); ok {
		fmt.Fprintf(&out, "mcp: %q %q\n", server, tool)
	}
	if usage, ok := in.ModelUsage(); ok {
		fmt.Fprintf(&out, "usage: tokens %d %v, spend %s %v\n", usage.Tokens, usage.HasTokens, usage.SpendMicroUSD, usage.HasSpend)
	}
	return fmt.Sprintf("%s%s\n", out.String(), in.Canonical(nil, nil))
}

func collect(list Node) []string {
	var all []string
	for _, element := range list.Children() {
		all = append(all, fmt.Sprintf("%q", element.Text()))
	}
	return all
}

func showSlots(t *testing.T, td *datadriven.TestData, in *Intent) string {
	var out strings.Builder
	from := Agent
	if td.HasArg("shim") {
		from = Shim
	}
	for _, arg := range td.CmdArgs {
		if arg.Key == "base" || arg.Key == "shim" {
			continue
		}
		value, err := in.Value(arg.Key, from)
		if err != nil {
			fmt.Fprintf(&out, "%s: error: %v\n", arg.Key, err)
			continue
		}
		fmt.Fprintf(&out, "%s: %s%s\n", arg.Key, showValue(value), showUnreadable(t, in, arg.Key, value))
	}
	return out.String()
}

func showValue(value vm.Value) string {
	var out strings.Builder
	out.WriteString(kindName(value.Kind))
	if value.Kind&(vm.String|vm.Number|vm.Bool) != 0 {
		fmt.Fprintf(&out, " %q", value.Text)
	}
	for _, element := range value.Elems {
		out.WriteString(" [" + showValue(element) + "]")
	}
	if value.BaseUnits {
		out.WriteString(" in base units")
	}
	return out.String()
}

// showUnreadable returns why the slot is invalid, and makes sure that there is a reason exactly where it is.
func showUnreadable(t testing.TB, in *Intent, slot string, value vm.Value) string {
	t.Helper()
	why := in.Unreadable(slot)
	invalid := value.Kind == vm.Invalid || slices.ContainsFunc(value.Elems, func(e vm.Value) bool { return e.Kind == vm.Invalid })
	if slot == "@evm.call" && !invalid {
		return "" // which the slot is for shims alone
	}
	if (why != "") != invalid {
		t.Errorf("%s is %s, but unreadable because %q", slot, showValue(value), why)
	}
	if len(why) > maxMessage/2 || !utf8.ValidString(why) || strings.ContainsFunc(why, unicode.IsControl) {
		t.Errorf("unfit reason: %q", why)
	}
	if why == "" {
		return ""
	}
	return ": " + why
}

func kindName(kind vm.Kind) string {
	names := map[vm.Kind]string{vm.Missing: "missing", vm.Null: "null", vm.Invalid: "invalid", vm.String: "string",
		vm.Number: "number", vm.Bool: "bool", vm.List: "list", vm.Object: "object"}
	return names[kind]
}

// showTexts walks @text byte by byte and prints each string that TextAt finds, in order.
func showTexts(t *testing.T, in *Intent) string {
	value, err := in.Value("@text", Agent)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for offset, start := 0, 0; offset <= len(value.Text); offset++ {
		if offset < len(value.Text) && value.Text[offset] != separator {
			continue
		}
		if _, _, ok := in.TextAt(offset); ok {
			t.Errorf("the border at %d belongs to a text", offset)
		}
		if offset > start {
			path, found, ok := in.TextAt(offset - 1)
			if first, _, _ := in.TextAt(start); !ok || found != value.Text[start:offset] || first != path {
				t.Errorf("at %d: %q, %q, %v", offset, path, found, ok)
			}
			fmt.Fprintf(&out, "%s: %q\n", path, found)
		}
		start = offset + 1
	}
	return out.String()
}

// TestGetters reads a request by the methods that records and attestations use.
func TestGetters(t *testing.T) {
	in, err := NewDecoder(Options{}).Decode([]byte(evmBody))
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := in.ChainID(); id != 8453 || !ok {
		t.Errorf("chain %d, %v", id, ok)
	}
	if in.ActionLower() != "wallet.transfer" || len(slices.Collect(in.Recipients())) != 1 || in.AmountInBaseUnits() {
		t.Errorf("action %s, recipients %v", in.ActionLower(), slices.Collect(in.Recipients()))
	}
	var names []string
	for name := range in.Node(slot.Metadata).Children() {
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != "team env invoice attempt model_usage" {
		t.Errorf("members of metadata: %s", got)
	}
	names = nil
	for name := range in.Node(slot.Metadata).Children() {
		if names = append(names, name); len(names) == 2 {
			break
		}
	}
	if got := strings.Join(names, " "); got != "team env" {
		t.Errorf("the first two members of metadata: %s", got)
	}
	for task, want := range map[string]string{"Build-7": "Build-7", "pay-0x" + strings.Repeat("AB", 20): "pay-0x" + strings.Repeat("ab", 20)} {
		in, err := NewDecoder(Options{}).Decode([]byte(goldenBody(`+"action":"x","intent":{"task_id":"` + task + `"}`)))
		if err != nil {
			t.Fatal(err)
		}
		if in.Task() != want {
			t.Errorf("the task %q is %q, want %q", task, in.Task(), want)
		}
	}
	absent := in.Node(slot.Arguments).Member("x")
	if absent.Kind() != vm.Missing || absent.Text() != "" || in.Node(slot.Metadata).Member("x").Kind() != vm.Missing {
		t.Error("an absent member is there")
	}
	for range absent.Children() {
		t.Error("an absent value has children")
	}
	empty, err := NewDecoder(Options{}).Decode([]byte(goldenBody(`+"action":"x"`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := empty.ChainID(); ok || len(slices.Collect(empty.Recipients())) != 0 {
		t.Error("an absent chain or recipient is there")
	}
}

// TestMessages holds errors about long and hostile texts to their bounds.
func TestMessages(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for _, body := range []string{
		`{"` + long + `":1}`, `{"a":{"` + long + `":1,"` + long + `":1}}`, `{"a":{"` + long + `":01}}`,
		goldenBody(`+"action":"` + long + `"`), goldenBody(`+"action":"http","intent":{"url":"http://` + long + ` "}`),
		goldenBody(`+"action":"mcp.` + strings.Repeat("\\u0041", 100) + `"`), `{"a":` + strings.Repeat("7", 5000) + `}`,
		strings.Repeat(`{"`+strings.Repeat("a", 200)+`":`, 5) + `{"b":1,"b":1}`, `{"` + strings.Repeat("\\u001f", 5000) + `":null}`, `{"a` + strings.Repeat(`":{"\u2028\u0000`, 40),
	} {
		_, err := NewDecoder(Options{}).Decode([]byte(body))
		if err == nil {
			t.Errorf("%.60s is accepted", body)
			continue
		}
		showError(t, err)
	}
	if got := clip("aé", 2); got != "a" {
		t.Errorf("clip left half a character: %q", got)
	}
}
