package oracle_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailiff/fuzz/oracle"
	"bailiff/grammar"
	"bailiff/vm/errcode"
)

// read reads a policy or fails the test.
func read(t testing.TB, text string) *oracle.Policy {
	t.Helper()
	file, found := grammar.Parse(grammar.NewSource("policy", []byte(text)))
	if found.HasErrors() {
		t.Fatalf("the policy has errors: %v\n%s", found, text)
	}
	policy, err := oracle.Read(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return policy
}

// body makes a request of the members of `intent`, with a chain where one is named.
func body(members, chain string) string {
	request := `{"framework":"custom","agentId":"a","txCommit":"` + strings.Repeat("ab", 32) + `",`
	if chain != "" {
		request += `"chainId":` + chain + `,`
	}
	return request + `"intent":` + members + `}`
}

// judgeLine judges a line of a table: `[shim] [chain:N] {members of intent} => …`.
func judgeLine(policy *oracle.Policy, line string) (oracle.Verdict, error) {
	from, chain := oracle.Sender{}, ""
	if rest, ok := strings.CutPrefix(line, "shim "); ok {
		line, from.Shim = rest, true
	}
	if rest, ok := strings.CutPrefix(line, "chain:"); ok {
		chain, line, _ = strings.Cut(rest, " ")
	}
	request := body(line, chain)
	if !json.Valid([]byte(request)) {
		return oracle.Verdict{}, fmt.Errorf("no JSON: %s", request)
	}
	return policy.Judge([]byte(request), from), nil
}

// shown writes a verdict as tables do: status, code without its prefix, rule; and, behind a bar, the plan.
func shown(v oracle.Verdict, plan bool) string {
	short := v.Code
	for _, prefix := range []string{"SVC_POLICY_VIOLATION_", "SVC_POLICY_HOLD_", "SVC_"} {
		short = strings.TrimPrefix(short, prefix)
	}
	text := strings.TrimSpace(v.Status + " " + short + " " + v.Rule)
	if !plan {
		return text
	}
	for _, r := range v.Reservations {
		text += fmt.Sprintf(" | %s %s %q %s %s/%s", r.Counter, r.Window, r.Group, r.Op, r.Amount, r.Limit)
	}
	return text
}

// faults judges every line of a table and returns those that differ from what is written behind their arrow. A line
// that shows a plan, even an empty one (a bar at its end), is compared with its plan.
func faults(policy *oracle.Policy, table string, seen map[string]bool) (found []string) {
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		request, want, ok := strings.Cut(line, " => ")
		if !ok {
			found = append(found, "no arrow: "+line)
			continue
		}
		v, err := judgeLine(policy, request)
		if err != nil {
			found = append(found, fmt.Sprintf("%s: %v", request, err))
			continue
		}
		plan := strings.Contains(want, "|")
		if got := shown(v, plan); got != strings.TrimSuffix(want, " |") {
			found = append(found, fmt.Sprintf("%s\n\tgot  %s\n\twant %s", request, got, want))
		}
		seen[v.Code] = true
		for _, r := range v.Reservations {
			seen[r.Code] = true
		}
	}
	return found
}

// A table is a policy and what it says of intents. The expectations are derived from the documents, by hand.
type table struct{ name, policy, lines string }

func allTables() []table {
	var all []table
	for _, some := range [][]table{evmTables, moneyTables, toolTables, commandTables, placeTables, customTables, formTables, limitTables, profileTables} {
		all = append(all, some...)
	}
	return all
}

func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range allTables() {
		t.Run(table.name, func(t *testing.T) {
			for _, fault := range faults(read(t, table.policy), table.lines, seen) {
				t.Error(fault)
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, missing := range unseen(seen) {
		t.Errorf("no line of the tables is answered %s", missing)
	}
}

// elsewhere are the codes of denials that no policy gives: a store gives the one, an operator the other.
var elsewhere = map[errcode.Code]bool{errcode.LimitStore: true, errcode.HoldDenied: true}

// unseen returns the codes of policies that no line of the tables has come to.
func unseen(seen map[string]bool) (missing []errcode.Code) {
	for _, info := range errcode.Table {
		if info.Class != errcode.Failure && !elsewhere[info.Code] && !seen[string(info.Code)] {
			missing = append(missing, info.Code)
		}
	}
	return missing
}

// TestCanary shows that the tables catch planted faults: a limit that is off by one, a wrong rule, a plan that is
// missing, a code that never occurs.
func TestCanary(t *testing.T) {
	const policy = "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: %s\n" +
		"## soft_limits\ndaily_evm_limit_eth: 5\n"
	const lines = `chain:1 {"action":"wallet.transfer","amount":"1.000000000000000001"} => DENIED AMOUNT_EXCEEDED evm.max_transaction_eth`
	const planned = `chain:1 {"action":"wallet.transfer","amount":"1"} => ALLOWED |`
	sound, planted := read(t, fmt.Sprintf(policy, "1")), read(t, fmt.Sprintf(policy, "1.000000000000000001"))
	seen := map[string]bool{}
	if found := faults(sound, lines, seen); len(found) != 0 {
		t.Fatal(found)
	}
	if len(faults(planted, lines, seen)) != 1 {
		t.Error("a limit that is off by one was not found")
	}
	if len(faults(sound, strings.Replace(lines, "max_tr", "min_tr", 1), seen)) != 1 {
		t.Error("a wrong rule was not found")
	}
	if len(faults(sound, planned, seen)) != 1 {
		t.Error("a plan that is missing was not found")
	}
	if len(unseen(map[string]bool{})) == 0 {
		t.Error("codes that never occur were not found")
	}
}
