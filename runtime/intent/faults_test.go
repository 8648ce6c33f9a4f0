package intent

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/seed"
	"bailiff/vm/errcode"
)

// faultsIn returns the faults of a body, each as its field and code.
func faultsIn(t testing.TB, body string) (faults []Error) {
	t.Helper()
	_, err := NewDecoder(Options{}).Decode([]byte(body))
	if err == nil {
		return nil
	}
	var first *Error
	if !errors.As(err, &first) {
		t.Fatalf("%v is not an *Error", err)
	}
	checkRest(t, first)
	return append([]Error{*first}, first.Rest...)
}

// checkRest holds the faults after the first to the bounds of all.
func checkRest(t testing.TB, first *Error) {
	t.Helper()
	if len(first.Rest) >= MaxFaults || len(first.Rest) > 0 && !first.Read {
		t.Errorf("%d faults follow %q, of a body that was read: %t", len(first.Rest), first.Message, first.Read)
	}
	for i := range first.Rest {
		checkMessage(t, &first.Rest[i])
		if first.Rest[i].Field == "" || first.Rest[i].Rest != nil {
			t.Errorf("the fault %q names no field, or others", first.Rest[i].Message)
		}
	}
}

func fieldsOf(faults []Error) (fields []string) {
	for _, fault := range faults {
		fields = append(fields, fault.Field)
	}
	return fields
}

// TestAllFaults: every fault of a body is there, once and at its cause.
func TestAllFaults(t *testing.T) {
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{}`, []string{"framework", "agentId", "intent.action", "txCommit"}},
		{`{"":1,"framework":"x","agentId":"a","txCommit":"` + strings.Repeat("0", 64) + `","intent":{"":2,"action":"bash","command":"ls"}}`, []string{`""`, `intent.""`}},
		{`{"framework":"X Y","agentID":"a","txCommit":"0x1","chainId":2,"note":1,"intent":{"Action":"a","amount":5,"to":[1]}}`,
			[]string{"agentID", "note", "intent.Action", "intent.amount", "intent.to", "framework", "txCommit", "chainId"}},
		{`{"framework":"x","agentId":"a","txCommit":1,"intent":{"action":"http","method":"get","host":"h"}}`,
			[]string{"txCommit", "intent.method", "intent.url"}},
		{`{"framework":"x","agentId":"a","intent":[]}`, []string{"intent", "txCommit"}},
		{`{"framework":"x","agentId":"a","userOpHash":"0x` + strings.Repeat("0", 64) + `","intent":{"action":1}}`, []string{"intent.action"}},
		{goldenBody(`+"action":"mcp.a.b","intent":{"url":"https://e.com/a","host":"f.com","path":"/b","query":"q","metadata":{"serverId":"x","toolName":"y","model_usage":{"input_tokens":-1,"provider":2}}}`),
			[]string{"intent.host", "intent.path", "intent.query", "intent.metadata.serverId", "intent.metadata.toolName", "intent.metadata.model_usage.input_tokens", "intent.metadata.model_usage.provider"}},
		{goldenBody(`+"action":"a","amount":"1","intent":{"action":"b","amount":"2","cwd":"x"}`), []string{"action", "amount", "intent.cwd"}},
	} {
		got := faultsIn(t, c.body)
		if fields := fieldsOf(got); !slices.Equal(fields, c.want) {
			t.Errorf("%s\n is at fault in %q, and not in %q", c.body, fields, c.want)
		}
	}
	var many strings.Builder
	for i := range 30 {
		fmt.Fprintf(&many, `,"x%d":1`, i)
	}
	if got := faultsIn(t, goldenBody(`+"action":"a"`+many.String())); len(got) != MaxFaults {
		t.Errorf("a body with 30 faults is answered with %d", len(got))
	}
	if got := fieldsOf(faultsIn(t, goldenBody(`+"chainId":3`+many.String()))); len(got) != MaxFaults || got[MaxFaults-1] != "x19" {
		t.Errorf("a body with 30 faults, and others that are found after them, is answered with %q", got)
	}
}

// TestUnreadableAlone: what keeps a body from being read comes alone.
func TestUnreadableAlone(t *testing.T) {
	for _, body := range []string{"{", `{"a":1,"a":1,"b":1}`, "{\"note\":1,\"x\":\"\xff\"}", `{"note":1e999,"x":1}`, strings.Repeat("x", MaxBody+1)} {
		_, err := NewDecoder(Options{}).Decode([]byte(body))
		if first := err.(*Error); first.Read || first.Rest != nil {
			t.Errorf("%.40q is answered with %v", body, first)
		}
	}
}

// faulty are members that are at fault whatever is beside them, with the field that they are a fault of. They are
// in the order of the checks.
var faultyMembers = []struct{ member, field string }{
	{`"note":1`, "note"}, {`"context":1`, "context"}, {`"framework":"A"`, "framework"}, {`"agentId":""`, "agentId"},
	{`"txCommit":"1"`, "txCommit"}, {`"chainId":3`, "chainId"}, {`"action":" "`, "action"},
}

// TestFaultsAreApart: a body with some faults has exactly the faults that bodies with one of them have, in the order of the
// checks, so that the code of the first is what it was when the checks ended with it.
func TestFaultsAreApart(t *testing.T) {
	rng := rand.New(rand.NewSource(seed.Value(t)))
	sound := map[string]string{"framework": `"framework":"x"`, "agentId": `"agentId":"a"`, "action": `"action":"b"`,
		"txCommit": `"txCommit":"` + strings.Repeat("0", 64) + `"`}
	for range 300 {
		var members, want []string
		taken := map[string]bool{}
		for _, f := range faultyMembers {
			if rng.Intn(2) == 0 {
				members, want, taken[f.field] = append(members, f.member), append(want, f.field), true
			}
		}
		for name, member := range sound {
			if !taken[name] {
				members = append(members, member)
			}
		}
		got := faultsIn(t, "{"+strings.Join(members, ",")+"}")
		if fields := fieldsOf(got); !slices.Equal(fields, want) {
			t.Fatalf("%s\n is at fault in %q, and not in %q", members, fields, want)
		}
		for _, fault := range got {
			if chain := fault.Field == "chainId"; chain != (fault.Code == errcode.ValidationChain) {
				t.Errorf("the fault of %s has code %s", fault.Field, fault.Code)
			}
		}
	}
}
