package decision

import (
	"bytes"
	"cmp"
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

	"bailiff/runtime/accounts"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/mask"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm"
	"bailiff/vm/errcode"
)

const maxLine = 240 // bytes

// foremost are the members of an intent that name the action and its destination. They come first, so that others of an agent's
// choice can't push them out.
var foremost = []string{"targetAddress", "to", "token", "amount", "url", "command", "path"}

// minIntent is how many bytes limits leave for the intent: the foremost members, and the line which says that there is more.
var minIntent = len(foremost)*(maxLine+1) + len(cutIntent)

// A HoldSummary is what somebody who decides a hold is shown of it.
type HoldSummary struct {
	Text string // a line for each part. It is what the passkey signs the hash of, and what the record keeps
	// Cut says that Text does not have all of the intent. The whole has to be shown with it then: the passkey signs the hash of that, too.
	Cut bool
}

// SummarizeHold returns what somebody who decides a hold is shown of it. policy is nil where the API key has another one by now.
func (a *Decider) SummarizeHold(ctx context.Context, key *ledger.Key, hold *ledger.Hold, policy *policies.Policy) (s HoldSummary, fault *service.Failure) {
	var program *vm.Program
	if policy != nil {
		program = policy.Program
	}
	fee := ""
	if hold.Fee.Declared {
		fee = hold.Fee.Amount.String()
	}
	amounts, err := holds.Amounts(hold.Intent, hold.AmountSent, fee, program)
	if err != nil {
		return s, service.Fail(errcode.Internal, err.Error())
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
	others, fault := a.OtherHolds(ctx, hold)
	if fault != nil {
		return s, fault
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
	members, cut := intentLines(hold.Intent, inUnits, room-len(cutIntent))
	return HoldSummary{strings.Join(slices.Concat(head, members, tail), "\n"), cut}, nil
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

// visible shows a character that can't be seen, or that steers a screen, escaped.
func visible(r rune) string {
	if r != utf8.RuneError && unicode.IsGraphic(r) {
		return string(r)
	}
	return strings.Trim(strconv.QuoteRune(r), "'")
}

// WholeIntent is an intent, indented, with the characters escaped that can't be seen or steer a screen.
func WholeIntent(intent json.RawMessage) string {
	var indented bytes.Buffer
	if json.Indent(&indented, intent, "", "  ") != nil {
		indented.Reset()
		indented.Write(intent)
	}
	var b strings.Builder
	for _, r := range indented.String() {
		if r == '\n' {
			b.WriteRune(r)
		} else {
			b.WriteString(visible(r))
		}
	}
	return b.String()
}

// oneLine shows a text on one line of at most maxLine bytes.
func oneLine(text string) string {
	var b strings.Builder
	fits := 0 // how many bytes leave room for cutLine
	for _, r := range text {
		b.WriteString(visible(r))
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

// intentLines are the members of an intent in its normal form, the foremost ones first and the others in the order of their names, as far as there is
// room for, and whether any of it is left out. The amount is not repeated where it stands in units already.
func intentLines(intent json.RawMessage, inUnits bool, room int) (lines []string, cut bool) {
	var canonical struct {
		ChainID json.RawMessage            `json:"chainId"`
		Intent  map[string]json.RawMessage `json:"intent"`
	}
	more := strings.TrimSuffix(cutIntent, "\n")
	if json.Unmarshal(intent, &canonical) != nil {
		return []string{more}, true
	}
	if canonical.ChainID != nil {
		lines = append(lines, "chain: "+string(canonical.ChainID))
	}
	names := slices.SortedFunc(maps.Keys(canonical.Intent), func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
	for _, name := range names {
		if name == "action" || name == "amount" && inUnits {
			continue
		}
		value := string(bytes.TrimSpace(canonical.Intent[name]))
		if text := ""; json.Unmarshal(canonical.Intent[name], &text) == nil {
			value = text
		}
		line := oneLine("intent." + name + ": " + value)
		if size(lines)+len(line)+1 > room {
			return append(lines, more), true
		}
		cut = cut || strings.HasSuffix(line, cutLine)
		lines = append(lines, line)
	}
	return lines, cut
}

// rank is where a member of an intent comes.
func rank(name string) int {
	if at := slices.Index(foremost, name); at >= 0 {
		return at
	}
	return len(foremost)
}

// OtherHolds are the further holds of an agent that wait for a decision.
func (a *Decider) OtherHolds(ctx context.Context, hold *ledger.Hold) (list []holds.Summary, fault *service.Failure) {
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

// PolicyOfHold returns the policy of a key where it is the one that holds a hold, nil otherwise.
func (a *Decider) PolicyOfHold(ctx context.Context, key *ledger.Key, hold *ledger.Hold) (*policies.Policy, error) {
	for range policies.MaxAttempts {
		policy, fault, again := a.Of(ctx, key, a.Clock().UnixNano())
		if !again {
			if fault != nil {
				return nil, accounts.AsError(fault)
			}
			if policy.Digest != hold.PolicyHash {
				return nil, nil
			}
			return policy, nil
		}
		if key, fault = a.Refresh(key); fault != nil {
			return nil, accounts.AsError(fault)
		}
	}
	return nil, ledger.ErrUnavailable
}
