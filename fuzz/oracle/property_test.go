package oracle_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/oracle"
)

// everyLine calls visit with each line of the tables and its policy.
func everyLine(t *testing.T, visit func(policy *oracle.Policy, request string)) {
	for _, table := range allTables() {
		policy := read(t, table.policy)
		for _, line := range strings.Split(table.lines, "\n") {
			if request, _, ok := strings.Cut(strings.TrimSpace(line), " => "); ok {
				visit(policy, request)
			}
		}
	}
}

// shuffled writes a JSON object with its members, at all depths, in another order.
func shuffled(random *rand.Rand, raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil && members != nil {
		var parts []string
		for name, value := range members {
			key, _ := json.Marshal(name)
			parts = append(parts, string(key)+":"+shuffled(random, value))
		}
		random.Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
		return "{" + strings.Join(parts, ",") + "}"
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) == nil && elements != nil {
		var parts []string
		for _, element := range elements {
			parts = append(parts, shuffled(random, element))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return string(raw)
}

// TestOrderOfMembers: the order of members changes nothing, and judging twice gives the same.
func TestOrderOfMembers(t *testing.T) {
	random := rand.New(rand.NewSource(seed.Value(t)))
	everyLine(t, func(policy *oracle.Policy, request string) {
		brace := strings.Index(request, "{")
		other := request[:brace] + shuffled(random, json.RawMessage(request[brace:]))
		first, err := judgeLine(policy, request)
		second, otherErr := judgeLine(policy, other)
		if err != nil || otherErr != nil || !reflect.DeepEqual(first, second) {
			t.Errorf("%s\n%s\ngive\n%+v %v\n%+v %v", request, other, first, err, second, otherErr)
		}
	})
}

// TestVerdictsAreWhole: what a status promises of the rest of its verdict.
func TestVerdictsAreWhole(t *testing.T) {
	everyLine(t, func(policy *oracle.Policy, request string) {
		v, err := judgeLine(policy, request)
		if err != nil {
			t.Fatal(err)
		}
		sound := map[string]bool{
			oracle.Allowed: len(v.Violations)+len(v.Holds) == 0 && v.Code == "" && v.Rule == "",
			oracle.Denied:  len(v.Violations) > 0 && len(v.Reservations) == 0 && v.Violations[0] == oracle.Violation{Rule: v.Rule, Code: v.Code},
			oracle.Pending: len(v.Violations) == 0 && len(v.Holds) > 0 && v.Holds[0] == v.Rule,
			oracle.Error:   v.Rule != "" && len(v.Violations)+len(v.Holds)+len(v.Reservations) == 0,
		}
		if !sound[v.Status] {
			t.Errorf("%s: %+v", request, v)
		}
	})
}

// TestAll: explanations list every violated rule and every hold in order.
func TestAll(t *testing.T) {
	policy := read(t, `version: 2.0.0
## custom
deny_string: bad
require_approval: *
allow_only.metadata.team: ops
## evm
allowed_chains: 1
allowed_actions: contract.call
max_transaction_eth: 1
consensus_threshold_eth: 0.5
consensus_require_hold: false
require_approval: wallet.*, contract.call
`)
	v, err := judgeLine(policy, `chain:10 {"action":"wallet.transfer","amount":"2","metadata":{"note":"bad"}}`)
	want := "[{custom.deny_string SVC_POLICY_VIOLATION_CUSTOM_RULE} {evm.allowed_chains SVC_POLICY_VIOLATION_CHAIN_NOT_ALLOWED}" +
		" {evm.allowed_actions SVC_POLICY_VIOLATION_ACTION_NOT_ALLOWED} {evm.max_transaction_eth SVC_POLICY_VIOLATION_AMOUNT_EXCEEDED}" +
		" {custom.allow_only.metadata.team SVC_POLICY_VIOLATION_NOT_ON_ALLOWLIST}]"
	if got := fmt.Sprint(v.Violations); err != nil || got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	v, err = judgeLine(policy, `chain:1 {"action":"contract.call","amount":"0.5","metadata":{"team":"ops"}}`)
	if err != nil || fmt.Sprint(v.Holds, v.Notes) != "[evm.require_approval custom.require_approval] [evm.consensus_threshold_eth]" {
		t.Errorf("%v %v %v", v.Holds, v.Notes, err)
	}
}

// TestIntegerAmounts: amounts without a point are base units where the service reads them so.
func TestIntegerAmounts(t *testing.T) {
	policy := read(t, "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\n")
	for amount, want := range map[string]string{"1000000000000000000": oracle.Allowed, "1000000000000000001": oracle.Denied, "1.0": oracle.Allowed, "1.1": oracle.Denied} {
		request := body(`{"action":"wallet.transfer","amount":"`+amount+`"}`, "1")
		if got := policy.Judge([]byte(request), oracle.Sender{IntegersAreBase: true}).Status; got != want {
			t.Errorf("%s: %s, not %s", amount, got, want)
		}
	}
}

// TestAmounts: an amount of n wei is denied exactly if n is above the maximum, however it is written.
func TestAmounts(t *testing.T) {
	const maximum = 1234567890123456789
	policy := read(t, "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1.234567890123456789\n")
	properties := gopter.NewProperties(seed.Parameters(t, 500))
	properties.Property("maximum", prop.ForAll(func(distance int64, zeros int, base bool) bool {
		n := new(big.Int).SetInt64(maximum + distance)
		digits := fmt.Sprintf("%019s", n)
		members := `{"action":"wallet.transfer","amount":"` + strings.Repeat("0", zeros) + digits[:len(digits)-18] + "." + digits[len(digits)-18:] + `"}`
		if base {
			members = `{"action":"wallet.transfer","amount_unit":"base","amount":"` + n.String() + `"}`
		}
		v, err := judgeLine(policy, "chain:1 "+members)
		return err == nil && (v.Status == oracle.Denied) == (distance > 0)
	}, gen.Int64Range(-3, 3), gen.IntRange(0, 100), gen.Bool()))
	properties.TestingRun(t)
}

// TestDisguises: a blocked command, path and host are found in every spelling that means the same.
func TestDisguises(t *testing.T) {
	policy := read(t, `version: 2.0.0
## tool_calls
allowed: bash, file_write, web_fetch
bash.blocked_commands: rm -rf
file_write.blocked_paths: /etc/passwd
web_fetch.blocked_domains: evil.example.com
`)
	properties := gopter.NewProperties(seed.Parameters(t, 300))
	for _, row := range []struct {
		name, action, field, subject string
		disguise                     func(*rand.Rand, string) string
	}{
		{"commands", "bash", "command", "rm -rf /", quoteSome},
		{"paths", "file_write", "path", "/etc/passwd", detour},
		{"hosts", "web_fetch", "url", "evil.example.com", respell},
	} {
		properties.Property(row.name, prop.ForAll(func(n int64) bool {
			subject, _ := json.Marshal(row.disguise(rand.New(rand.NewSource(n)), row.subject))
			v, err := judgeLine(policy, `{"action":"`+row.action+`","`+row.field+`":`+string(subject)+`}`)
			return err == nil && v.Status == oracle.Denied
		}, gen.Int64()))
	}
	properties.TestingRun(t)
	if v, err := judgeLine(policy, `{"action":"file_write","path":"/etc/group"}`); err != nil || v.Status != oracle.Allowed {
		t.Errorf("what is not blocked is denied, so the properties show nothing: %+v %v", v, err)
	}
}

// quoteSome quotes some characters of a command, each on its own.
func quoteSome(random *rand.Rand, command string) string {
	forms := []string{"%s", "'%s'", `"%s"`, `\%s`, "%s''", `%s""`, "$'%s'"}
	disguised := ""
	for _, r := range command {
		if form := forms[random.Intn(len(forms))]; r != ' ' {
			disguised += fmt.Sprintf(form, string(r))
		} else {
			disguised += strings.Repeat(" ", 1+random.Intn(3))
		}
	}
	return disguised
}

// detour writes a path with other cases and separators, and with ways that lead nowhere.
func detour(random *rand.Rand, path string) string {
	disguised := ""
	for _, r := range path {
		switch {
		case r == '/':
			disguised += []string{"/", `\`, "/./", "//", "/x/../", `/x\y\..\..\`}[random.Intn(6)]
		case random.Intn(2) == 0:
			disguised += strings.ToUpper(string(r))
		default:
			disguised += string(r)
		}
	}
	return disguised + []string{"", "/", " ", ".", "/.", ":x"}[random.Intn(6)]
}

// respell writes a host in another case, below itself, with a dot at its end, a port and the like.
func respell(random *rand.Rand, host string) string {
	disguised := []string{"", "x.", "X.y."}[random.Intn(3)]
	for _, r := range host {
		switch {
		case r == '.':
			disguised += []string{".", "\u3002", "\uff0e"}[random.Intn(3)]
		case random.Intn(3) == 0:
			disguised += strings.ToUpper(string(r))
		case random.Intn(3) == 0:
			disguised += string(r - 'a' + '\uff41') // full width
		default:
			disguised += string(r)
		}
	}
	return []string{"http://", "HTTPS://"}[random.Intn(2)] + disguised + []string{"", "."}[random.Intn(2)] +
		[]string{"", ":80"}[random.Intn(2)] + []string{"", "/x", "?a", "#/@safe.example"}[random.Intn(4)]
}

// FuzzJudge: nothing that a request holds makes the oracle panic, and every answer is one of the four.
func FuzzJudge(f *testing.F) {
	f.Add("rm -rf /", "/etc", "http://[::1]:80/a?b#c", "a@b.c", "1.5", "$'\\x41'")
	f.Add("cat <<E >'x' \"$(a `b`)\"\nE", `c:\x:y`, "https://x.example", "\"a\"@b <c>", "", "(((")
	f.Add("a\r\n'b' \\\r\n${x:-'y'}", "~/..", "https://0x7f.1", "g: a@b;", "1e5", "\\")
	policies := []*oracle.Policy{}
	for _, table := range allTables() {
		policies = append(policies, read(f, table.policy))
	}
	f.Fuzz(func(t *testing.T, command, path, url, to, amount, more string) {
		for _, action := range []string{"bash", "file_write", "http", "email.send", "wallet.transfer", "mcp.a.b", "sql"} {
			fields := map[string]any{"action": action, "command": command, "path": path, "to": to, "amount": amount, "metadata": map[string]any{"note": more, "env": []string{more}}}
			if action == "http" {
				fields["url"], fields["method"] = url, "GET"
				delete(fields, "path")
			}
			if action != "wallet.transfer" {
				delete(fields, "amount")
			}
			members, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			request := []byte(body(string(members), "1"))
			for _, policy := range policies {
				if v := policy.Judge(request, oracle.Sender{Shim: true}); !strings.Contains("ALLOWED DENIED PENDING ERROR", v.Status) || v.Status == "" {
					t.Errorf("status %q", v.Status)
				}
			}
		}
	})
}

// BenchmarkJudge shows how many judgements fit into a second, over the lines of the tables.
func BenchmarkJudge(b *testing.B) {
	for _, name := range []string{"tokens", "commands", "paths", "typed http", "soft limits", "filesystem"} {
		for _, table := range allTables() {
			if table.name != name {
				continue
			}
			b.Run(name, func(b *testing.B) {
				policy, from := read(b, table.policy), oracle.Sender{Shim: true}
				var all [][]byte
				for _, line := range strings.Split(table.lines, "\n") {
					request, _, ok := strings.Cut(line, " => ")
					if !ok {
						continue
					}
					request = strings.TrimPrefix(strings.TrimPrefix(request, "shim "), "chain:1 ")
					all = append(all, []byte(body(request, "1")))
				}
				b.ResetTimer()
				for i := range b.N {
					policy.Judge(all[i%len(all)], from)
				}
			})
		}
	}
}
