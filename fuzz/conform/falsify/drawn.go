package falsify

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"bailiff/fuzz/gen"
)

// Drawn are n mutants that a seed draws from the operators on answers, no operator twice before each was there once.
func Drawn(seed int64, n int) (all []Mutant) {
	r := gen.NewRand(seed)
	for len(all) < n {
		order := make([]int, len(operators))
		for i := range order {
			order[i] = i
		}
		gen.Shuffle(r, order)
		for _, i := range order {
			if len(all) < n {
				all = append(all, operators[i](r))
			}
		}
	}
	return all
}

// operators make mutants.
var operators = []func(*gen.Rand) Mutant{
	dropMember, otherCode, otherRule, otherStatus, otherHTTP, otherHash, offByOne, brokenSignature, otherClaim, staleAttestation, otherNonce, otherHold, testRunAttests, missSpaced,
}

// edit makes a mutant of decisions that have a member.
func edit(name, what, member string, every int, change func(x *exchange, old string) any) Mutant {
	return Mutant{Name: name, What: what, every: every, answer: func(x *exchange) bool {
		old := x.text(member)
		if old == "" || !x.decides() && !x.testRuns() {
			return false
		}
		x.m[member] = change(x, old)
		return fmt.Sprint(x.m[member]) != old
	}}
}

func dropMember(r *gen.Rand) Mutant {
	member := r.Pick("policyHash", "matched_rule", "error_code", "message", "holdId", "request_nonce", "intent_attestation", "test_run", "observe_mode_active", "policyRule")
	return Mutant{Name: "drop-" + member, What: "the member " + member + " is missing", every: 1 + r.N(3), answer: func(x *exchange) bool {
		_, there := x.m[member]
		decision := x.decides() || x.testRuns()
		delete(x.m, member)
		return there && decision
	}}
}

func otherCode(r *gen.Rand) Mutant {
	other := r.Pick("SVC_POLICY_VIOLATION", "SVC_POLICY_VIOLATION_ACTION_NOT_ALLOWED", "SVC_INTERNAL_ERROR", "SVC_AGGREGATE_LIMIT_EXCEEDED")
	return edit("code-"+other, "a denial has the code "+other, "error_code", 1+r.N(4), func(*exchange, string) any { return other })
}

func otherRule(r *gen.Rand) Mutant {
	return edit("rule-cut", "matched_rule lacks its last part", "matched_rule", 1+r.N(4), func(_ *exchange, old string) any { return old[:strings.LastIndexByte(old, '.')] })
}

func otherStatus(r *gen.Rand) Mutant {
	to := r.Pick("ALLOWED", "PENDING")
	return edit("status-"+to, "some decisions have the status "+to, "status", 2+r.N(3), func(*exchange, string) any { return to })
}

func otherHTTP(r *gen.Rand) Mutant {
	to := 200 + r.N(2)
	return Mutant{Name: fmt.Sprintf("http-%d", to), What: fmt.Sprintf("a decision that is not ALLOWED is sent with the HTTP status %d", to), every: 1 + r.N(3), answer: func(x *exchange) bool {
		if !x.decides() || x.status == 200 {
			return false
		}
		x.status = to
		return true
	}}
}

func otherHash(r *gen.Rand) Mutant {
	at := r.N(64)
	return edit(fmt.Sprintf("hash-%d", at), "a digit of policyHash is another", "policyHash", 1+r.N(4), func(_ *exchange, old string) any {
		digit := "0"
		if old[at] == '0' {
			digit = "1"
		}
		return old[:at] + digit + old[at+1:]
	})
}

// offByOne has GET /v1/limits, or a hold's end, off by one.
func offByOne(r *gen.Rand) Mutant {
	by := big.NewInt(int64(1 - 2*r.N(2)))
	if r.Chance(50) {
		return Mutant{Name: fmt.Sprintf("hold-end%+d", by), What: "a hold ends a second off", answer: func(x *exchange) bool {
			end, ok := x.m["expiresAt"].(json.Number)
			n, good := new(big.Int).SetString(end.String(), 10)
			if ok && good {
				x.m["expiresAt"] = json.Number(n.Add(n, by).String())
			}
			return ok && good && strings.HasPrefix(x.path, "/v1/holds/")
		}}
	}
	return Mutant{Name: fmt.Sprintf("used%+d", by), What: "GET /v1/limits is one off", answer: func(x *exchange) bool {
		limits, ok := x.m["limits"].([]any)
		return ok && x.path == "/v1/limits" && shiftUse(limits, by)
	}}
}

// shiftUse adds to each used, below any nesting.
func shiftUse(list []any, by *big.Int) (did bool) {
	for _, one := range list {
		object, _ := one.(map[string]any)
		if used, ok := object["used"].(string); ok && !strings.Contains(used, ".") {
			if n, good := new(big.Int).SetString(used, 10); good {
				object["used"], did = n.Add(n, by).String(), true
			}
		} else if ok {
			object["used"], did = used+"1", true
		}
		if groups, ok := object["groups"].([]any); ok {
			did = shiftUse(groups, by) || did
		}
	}
	return did
}

func brokenSignature(r *gen.Rand) Mutant {
	back := 5 + r.N(60)
	return edit("signature-bit", "a bit of the signature is another", "intent_attestation", 2, func(_ *exchange, old string) any {
		at := len(old) - back
		to := "A"
		if old[at] == 'A' {
			to = "B"
		}
		return old[:at] + to + old[at+1:]
	})
}

func otherClaim(r *gen.Rand) Mutant {
	claim := r.Pick("exp", "iat", "intentHash", "sub", "policyHash", "jti")
	return edit("claim-"+claim, "the claim "+claim+" is another than the signed one", "intent_attestation", 1+r.N(3), func(_ *exchange, old string) any {
		parts := strings.Split(old, ".")
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		name := `"` + claim + `":`
		at := strings.Index(string(payload), name)
		if err != nil || at < 0 {
			return old
		}
		for at += len(name); at < len(payload); at++ { // the next digit is another one
			if c := payload[at]; c >= '0' && c <= '8' || c >= 'a' && c <= 'e' {
				payload[at]++
				break
			}
		}
		parts[1] = base64.RawURLEncoding.EncodeToString(payload)
		return strings.Join(parts, ".")
	})
}

func staleAttestation(r *gen.Rand) Mutant {
	return edit("stale-attestation", "the attestation is that of an earlier request", "intent_attestation", 1+r.N(3), func(x *exchange, old string) any {
		if other := x.earlier(); other != nil {
			return other.token()
		}
		return old
	})
}

func otherNonce(r *gen.Rand) Mutant {
	return edit("nonce", "the nonce is not the one that was sent", "request_nonce", 1+r.N(2), func(_ *exchange, old string) any { return old + "0" })
}

func otherHold(r *gen.Rand) Mutant {
	return edit("hold-id", "a hold has the id of no hold", "holdId", 1+r.N(2), func(_ *exchange, old string) any {
		digit := "0"
		if old[0] == '0' {
			digit = "1"
		}
		return digit + old[1:]
	})
}

func testRunAttests(r *gen.Rand) Mutant {
	return Mutant{Name: "test-run-attests", What: "a test-run has an attestation", every: 1 + r.N(3), answer: func(x *exchange) bool {
		other := x.earlier()
		if !x.testRuns() || x.text("status") != "ALLOWED" || other == nil {
			return false
		}
		x.m["intent_attestation"] = other.token()
		return true
	}}
}

// missSpaced is found by the law of spelling alone: other requests have no white space between their members.
func missSpaced(*gen.Rand) Mutant {
	return Mutant{Name: "space-blind", What: "a denial is missed where the body has white space between its members", answer: func(x *exchange) bool {
		var dense bytes.Buffer
		spaced := json.Compact(&dense, x.sent) == nil && dense.Len() < len(x.sent)
		return spaced && x.testRuns() && x.text("status") == "DENIED" && x.pass()
	}}
}
