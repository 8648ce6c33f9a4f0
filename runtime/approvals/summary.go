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

	"bailiff/runtime/decision"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm"
	"bailiff/vm/errcode"
)

const (
	maxLine       = 300 // bytes of a value in a summary
	maxIntentText = 2500
	maxLimitLines = 8
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
	lines := append([]string{"action: " + hold.Method}, amounts...)
	inUnits := slices.ContainsFunc(amounts, func(line string) bool { return strings.HasPrefix(line, "amount: ") && policy != nil })
	lines = append(lines, intentLines(hold.Intent, inUnits)...)
	lines = append(lines, "agent: "+hold.AgentID, "API key: "+hold.Key.String(), "rule: "+rule, "policy: "+hex.EncodeToString(hold.PolicyHash[:]),
		"hold: "+hold.ID.String(), "opened: "+moment(hold.Created), "expires: "+moment(hold.Expires))
	others, err := a.others(ctx, hold)
	if err != nil {
		return "", a.StoreFault("holds could not be read", err)
	}
	lines = append(lines, others)
	if policy != nil {
		lines = append(lines, a.left(ctx, key)...)
	}
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return ledger.ClipTo(strings.Join(lines, "\n"), ledger.MaxApprovalSummary), nil
}

func moment(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339) }

// oneLine shows a text on one line: what can't be seen, or steers what shows it, stands escaped.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range ledger.ClipTo(text, maxLine) {
		if unicode.IsGraphic(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	if len(text) > maxLine {
		b.WriteString(" … (" + strconv.Itoa(len(text)) + " bytes; the whole intent is below)")
	}
	return b.String()
}

// intentLines are the members of an intent in its normal form, in the order of their names. The amount is left out where it stands in units already.
func intentLines(intent json.RawMessage, inUnits bool) (lines []string) {
	var canonical struct {
		ChainID json.RawMessage            `json:"chainId"`
		Intent  map[string]json.RawMessage `json:"intent"`
	}
	if json.Unmarshal(intent, &canonical) != nil {
		return []string{"intent: " + string(intent)}
	}
	if canonical.ChainID != nil {
		lines = append(lines, "chain: "+string(canonical.ChainID))
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(canonical.Intent)) {
		if name == "action" || name == "amount" && inUnits {
			continue
		}
		value := string(bytes.TrimSpace(canonical.Intent[name]))
		if text := ""; json.Unmarshal(canonical.Intent[name], &text) == nil {
			value = text
		}
		line := "intent." + name + ": " + value
		if size += min(len(line), maxLine); size > maxIntentText {
			return append(lines, "intent: there is more than fits here; the whole intent is below")
		}
		lines = append(lines, line)
	}
	return lines
}

// others says what else waits for a decision.
func (a *Approvals) others(ctx context.Context, hold *ledger.Hold) (string, error) {
	all, err := a.Ledger.Holds(ctx, hold.Key, a.Clock().UnixNano())
	if err != nil {
		return "", err
	}
	of, waiting := 0, 0
	for i := range all {
		if all[i].State != ledger.HoldPending || all[i].ID == hold.ID {
			continue
		}
		if waiting++; all[i].AgentID == hold.AgentID {
			of++
		}
	}
	return fmt.Sprintf("also waiting: %d of this agent, %d of this API key", of, waiting), nil
}

// left says how much the key's limits leave. A person who has to decide is not kept from it by limits that can't be read.
func (a *Approvals) left(ctx context.Context, key *ledger.Key) (lines []string) {
	view, fault := a.Decider.Limits(ctx, key)
	if fault != nil {
		return []string{"limits: can't be read now: " + fault.Message}
	}
	for i := range view.Limits {
		if len(lines) == maxLimitLines {
			return append(lines, fmt.Sprintf("limits: %d more are not shown", len(view.Limits)-i))
		}
		if line := leftOf(&view.Limits[i]); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// leftOf is the line of a limit; empty for one that counts groups apart of which none is in use.
func leftOf(l *decision.LimitView) string {
	left, whose := l.Left, ""
	if len(l.GroupBy) > 0 {
		if len(l.Groups) == 0 {
			return ""
		}
		left, whose = l.Groups[0].Left, " of the group that has used most"
	}
	return strings.TrimSpace(fmt.Sprintf("left of %s: %s of %s %s", l.Rule, left, l.Limit, l.Unit)) + " in the " + l.Window + whose
}
