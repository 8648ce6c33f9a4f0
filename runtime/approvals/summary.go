package approvals

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm"
	"bailiff/vm/errcode"
)

const (
	maxLine   = 240  // bytes
	minIntent = 1200 // bytes that limits leave for the intent
)

// summary is what an approver decides about, a line each. It is what the passkey signs the hash of, and what the record keeps.
func (a *Approvals) summary(ctx context.Context, key *ledger.Key, hold *ledger.Hold, policy *policies.Policy) (string, *service.Failure) {
	var program *vm.Program
	if policy != nil {
		program = policy.Program
	}
	fee := ""
	if hold.Fee.Declared {
		fee = hold.Fee.Amount.String()
	}
	amounts, err := holds.Amounts(hold.Intent, fee, program)
	if err != nil {
		return "", service.Fail(errcode.Internal, err.Error())
	}
	rule := hold.Rule
	if hold.Line > 0 {
		rule += ", line " + strconv.Itoa(hold.Line) + " of the policy"
	}
	if hold.Entry != "" {
		rule += ", because of " + mask.Text(hold.Entry)
	}
	asked, unsure := holds.AskedOf(hold, program)
	if policy != nil {
		amounts = append(amounts, holds.Lines(&asked, program)...)
		if unsure != "" {
			amounts = append(amounts, "uncertain: "+unsure)
		}
	}
	others, fault := a.others(ctx, hold)
	if fault != nil {
		return "", fault
	}
	own := []string{"agent: " + hold.AgentID, "API key: " + hold.Key.String(), "rule: " + rule, "policy: " + hex.EncodeToString(hold.PolicyHash[:]),
		"hold: " + hold.ID.String(), "opened: " + moment(hold.Created), "expires: " + moment(hold.Expires), "also waiting: " + strconv.Itoa(len(others)) + " of this agent"}
	head, tail := oneLines(append([]string{"action: " + hold.Method}, amounts...)), oneLines(own)
	inUnits := slices.ContainsFunc(amounts, func(line string) bool { return strings.HasPrefix(line, "amount: ") && policy != nil })
	room := ledger.MaxApprovalSummary - size(head) - size(tail)
	if policy != nil {
		limits := fitting(oneLines(a.LimitLines(ctx, key)), room-minIntent)
		room -= size(limits)
		tail = append(tail, limits...)
	}
	return strings.Join(slices.Concat(head, intentLines(hold.Intent, inUnits, room-len(cutIntent)), tail), "\n"), nil
}

// fitting returns as many lines about limits as there is room for, and says where some are left out.
func fitting(lines []string, room int) []string {
	for most := len(lines); most >= 0; most-- {
		kept := lines[:most]
		if most < len(lines) {
			kept = append(slices.Clip(kept), fmt.Sprintf("limits: %d more are not shown", len(lines)-most))
		}
		if size(kept) <= room {
			return kept
		}
	}
	return nil
}

// size is how many bytes lines take, each with its end.
func size(lines []string) (n int) {
	for _, line := range lines {
		n += len(line) + 1
	}
	return n
}

func moment(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339) }

func oneLines(lines []string) []string {
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return lines
}

// oneLine shows a text on one line of at most maxLine bytes: characters that can't be seen, or steer a screen, stand escaped.
func oneLine(text string) string {
	var b strings.Builder
	fits := 0 // how many bytes leave room for cutLine
	for _, r := range text {
		if r != utf8.RuneError && unicode.IsGraphic(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		if b.Len() > maxLine {
			return b.String()[:fits] + cutLine
		}
		if b.Len() <= maxLine-len(cutLine) {
			fits = b.Len()
		}
	}
	return b.String()
}

// What stands for the parts that have no room.
const (
	cutLine   = " … (there is more of it; the whole intent is below)"
	cutIntent = "intent: there is more than fits here; the whole intent is below\n"
)

// intentLines are the members of an intent in its normal form, in the order of their names, as far as there is room for. The amount is left out
// where it stands in units already.
func intentLines(intent json.RawMessage, inUnits bool, room int) (lines []string) {
	var canonical struct {
		ChainID json.RawMessage            `json:"chainId"`
		Intent  map[string]json.RawMessage `json:"intent"`
	}
	if json.Unmarshal(intent, &canonical) != nil {
		return []string{strings.TrimSuffix(cutIntent, "\n")}
	}
	if canonical.ChainID != nil {
		lines = append(lines, "chain: "+string(canonical.ChainID))
	}
	for _, name := range slices.Sorted(maps.Keys(canonical.Intent)) {
		if name == "action" || name == "amount" && inUnits {
			continue
		}
		value := string(bytes.TrimSpace(canonical.Intent[name]))
		if text := ""; json.Unmarshal(canonical.Intent[name], &text) == nil {
			value = text
		}
		line := oneLine("intent." + name + ": " + value)
		if size(lines)+len(line)+1 > room {
			return append(lines, strings.TrimSuffix(cutIntent, "\n"))
		}
		lines = append(lines, line)
	}
	return lines
}

// others are the further holds of an agent that wait for a decision.
func (a *Approvals) others(ctx context.Context, hold *ledger.Hold) (list []holds.Summary, fault *service.Failure) {
	key, found := a.Ledger.LookupKeyID(hold.Key)
	if !found {
		return nil, nil
	}
	all, fault := a.HoldsOf(ctx, key)
	if fault != nil {
		return nil, fault
	}
	return slices.DeleteFunc(all, func(h holds.Summary) bool {
		return h.Status != ledger.HoldPending.String() || h.HoldID == hold.ID.String() || h.AgentID != hold.AgentID
	}), nil
}
