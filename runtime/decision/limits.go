package decision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bailiff/runtime/events"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
	"bailiff/runtime/service"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
)

const (
	// maxLimitGroups is how many groups of one limit are listed at most: those of which most is used.
	maxLimitGroups = 100
	// maxLimitCandidates is how many groups of one limit are looked at: those that counted latest.
	maxLimitCandidates = 2000
	// limitEvents is the size of a page of the events in which groups are looked for.
	limitEvents = 1000
)

// LimitsView is what the counters of a key's policy have come to.
type LimitsView struct {
	KeyID      string      `json:"keyId"`
	PolicyHash string      `json:"policyHash"`
	At         time.Time   `json:"at"`
	Limits     []LimitView `json:"limits"` // in the order of the policy's lines
}

// LimitView is one limit. Amounts are decimals in its unit. One that counts groups apart has the use of each group.
type LimitView struct {
	Rule     string     `json:"rule"`
	Line     int        `json:"line"` // of the rule in the policy, from 1; 0 where it is not known
	Counter  string     `json:"counter,omitempty"`
	Window   string     `json:"window"` // hour, day or task
	Unit     string     `json:"unit,omitempty"`
	Limit    string     `json:"limit"`
	Used     string     `json:"used,omitempty"`
	Left     string     `json:"left,omitempty"`
	ResetsAt time.Time  `json:"resetsAt,omitzero"` // when an hour or a day ends; a task is forgotten 30 days after its last use
	GroupBy  []string   `json:"groupBy,omitempty"`
	Groups   []GroupUse `json:"groups,omitempty"` // those in use, most used first
	// MoreGroups says that there may be groups in use that are not listed.
	MoreGroups bool `json:"moreGroups,omitempty"`
}

// GroupUse is what one group has used of a limit.
type GroupUse struct {
	Group []string `json:"group"` // the values of groupBy; empty where SVC_EVENT_DETAIL keeps them out
	Used  string   `json:"used"`
	Left  string   `json:"left"`
}

// Limits returns the use and the rest of each limit of a key's policy that counts, as the next decision will find it.
func (a *Decider) Limits(ctx context.Context, key *ledger.Key) (*LimitsView, *service.Failure) {
	done, ok := a.Turn(ctx, key) // looking for groups reads pages of events
	if !ok {
		return nil, service.Retryable(errcode.RateLimited, "other pages of events are being read, and the limits got no turn; ask for them again, and for one at a time", service.ComeAgain)
	}
	defer done()
	now := a.Clock()
	for range policies.MaxAttempts {
		policy, fault, again := a.Of(ctx, key, now.UnixNano())
		if fault != nil {
			return nil, fault
		}
		if !again {
			view, err := a.limitsOf(ctx, key, policy, now)
			if err != nil {
				return nil, a.StoreFault("the limits of a key could not be read", err)
			}
			return view, nil
		}
		if key, fault = a.Refresh(key); fault != nil {
			return nil, fault
		}
	}
	return nil, service.Unavailable()
}

// Limits returns the limits of the key of an id. ledger.ErrNotFound where there is no such key, ErrInvalid where the key has no
// policy, ErrKeyRevoked where it is revoked.
func (a *Admin) Limits(ctx context.Context, keyID string) (*LimitsView, error) {
	id, err := ledger.ParseID(keyID)
	if err != nil {
		return nil, err
	}
	key, found := a.Ledger.LookupKeyID(id)
	switch {
	case !found:
		return nil, fmt.Errorf("%w: there is no key %s", ledger.ErrNotFound, keyID)
	case key.Revoked != 0:
		return nil, fmt.Errorf("%w: the key %s has no limits any more", ledger.ErrKeyRevoked, keyID)
	case a.Decider == nil:
		return nil, fmt.Errorf("%w: no service runs on this data, and it is the service that has the policies in force; start it", ledger.ErrUnavailable)
	}
	view, fault := a.Decider.Limits(ctx, key)
	switch {
	case fault == nil:
		return view, nil
	case fault.Code == errcode.NoPolicy:
		return nil, fmt.Errorf("%w: %s", ledger.ErrInvalid, fault.Message)
	}
	return nil, fmt.Errorf("%w: %s", ledger.ErrUnavailable, fault.Message)
}

// limitsOf reads the counters of a policy.
func (a *Decider) limitsOf(ctx context.Context, key *ledger.Key, policy *policies.Policy, now time.Time) (*LimitsView, error) {
	program := policy.Program
	view := &LimitsView{KeyID: key.ID.String(), PolicyHash: policy.Hash, At: now.UTC(), Limits: []LimitView{}}
	groups, err := a.findGroups(ctx, key, program, now)
	if err != nil {
		return nil, err
	}
	for i := range program.Counters() {
		counter := program.Counter(uint16(i))
		limit, err := a.limitView(ctx, key, program, counter, groups, now)
		if err != nil {
			return nil, err
		}
		limit.Line = policy.CounterLines[i]
		view.Limits = append(view.Limits, limit)
	}
	slices.SortStableFunc(view.Limits, func(a, b LimitView) int { return cmp.Compare(a.Line, b.Line) })
	return view, nil
}

func (a *Decider) limitView(ctx context.Context, key *ledger.Key, program *vm.Program, counter *vm.Counter, found *foundGroups, now time.Time) (LimitView, error) {
	rule := program.Rule(counter.Rule).Name
	identity := ledger.Counter{Limit: counter.Name, Window: windows[counter.Window]}
	limit := LimitView{
		Rule: rule, Window: counter.Window.String(), Unit: counter.Unit, Limit: counter.Limit.Format(counter.Decimals),
		ResetsAt: windowEnd(counter.Window.String(), now.UnixNano()),
	}
	if counter.Name != rule {
		limit.Counter = counter.Name
	}
	left := func(used amount.Amount) string { return minus(counter.Limit, used).Format(counter.Decimals) }
	if counter.Group == vm.NoSlot {
		used, err := a.usedOf(ctx, key.ID, identity, counter.Limit, now.UnixNano())
		limit.Used, limit.Left = used.Format(counter.Decimals), left(used)
		return limit, err
	}
	limit.GroupBy = append(limit.GroupBy, counter.GroupName)
	if counter.Subgroup != vm.NoSlot {
		limit.GroupBy = append(limit.GroupBy, counter.SubgroupName)
	}
	used, err := a.usedBy(ctx, key, identity, counter.Limit, found.of(identity), now)
	if err != nil {
		return limit, err
	}
	limit.MoreGroups = found.cut || len(found.of(identity)) >= maxLimitCandidates || len(used) > maxLimitGroups
	for _, group := range used[:min(len(used), maxLimitGroups)] {
		limit.Groups = append(limit.Groups, GroupUse{
			Group: a.groupValues(limit.GroupBy, group.name), Used: group.used.Format(counter.Decimals), Left: left(group.used),
		})
	}
	return limit, nil
}

// A usedGroup is a group and what it has used.
type usedGroup struct {
	name string
	used amount.Amount
}

// usedBy reads what groups have used; most first. One that has used nothing in this window is left out.
func (a *Decider) usedBy(ctx context.Context, key *ledger.Key, identity ledger.Counter, limit amount.Amount, names []string, now time.Time) (all []usedGroup, err error) {
	for _, name := range names {
		identity.Group = name
		used, err := a.usedOf(ctx, key.ID, identity, limit, now.UnixNano())
		if err != nil {
			return nil, err
		}
		if !used.IsZero() {
			all = append(all, usedGroup{name, used})
		}
	}
	slices.SortStableFunc(all, func(a, b usedGroup) int { return b.used.Cmp(a.used) })
	return all, nil
}

// groupValues are the values of a group as they may be shown. Tasks are found by their ids, which are never hidden.
func (a *Decider) groupValues(by []string, name string) []string {
	values := []string{name}
	if len(by) > 1 {
		values = strings.SplitN(name, "\x00", len(by))
	}
	for i, value := range values {
		if by[i] != taskField {
			values[i] = a.hide(value, false)
		}
	}
	return values
}

// taskField is what policies and counters call the task.
const taskField = "task_id"

// foundGroups are the names of groups, by their counter: memory has none, but records do.
type foundGroups struct {
	names map[ledger.Counter][]string
	cut   bool // there are records that were not read
}

func (f *foundGroups) of(identity ledger.Counter) []string { return f.names[identity] }

// findGroups looks for the groups of the limits that count groups apart, in the records of their windows: in the last
// events.Examined records of the log.
func (a *Decider) findGroups(ctx context.Context, key *ledger.Key, program *vm.Program, now time.Time) (*foundGroups, error) {
	found := &foundGroups{names: map[ledger.Counter][]string{}}
	from := now
	for i := range program.Counters() {
		counter := program.Counter(uint16(i))
		if counter.Group != vm.NoSlot {
			found.names[ledger.Counter{Limit: counter.Name, Window: windows[counter.Window]}] = nil
			from = earlier(from, windowStart(windows[counter.Window], now))
		}
	}
	if len(found.names) == 0 {
		return found, nil
	}
	head, err := a.Ledger.LogOf(key.ID).Head(ctx)
	if err != nil {
		return nil, err
	}
	query := ledger.EventQuery{Key: key.ID, From: events.Nanoseconds(from), Limit: limitEvents, Examine: events.Examined}
	if head.LSN > events.Examined {
		query.After = head.LSN - events.Examined
		if found.cut, err = a.anyBefore(ctx, query); err != nil {
			return nil, err
		}
	}
	seen := map[ledger.Counter]bool{}
	for more := true; more && query.After < head.LSN; {
		page, err := a.Ledger.LogOf(query.Key).Events(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Events {
			for _, c := range page.Events[i].Counters {
				found.note(seen, c.Counter)
			}
		}
		query.After, more = page.Next, page.More
	}
	return found, nil
}

// anyBefore reports whether the key may have records of the same time before those that a query asks for.
func (a *Decider) anyBefore(ctx context.Context, query ledger.EventQuery) (bool, error) {
	end := query.After
	query.After, query.Limit = 0, 1
	page, err := a.Ledger.LogOf(query.Key).Events(ctx, query)
	if errors.Is(err, ledger.ErrInvalid) {
		return true, nil
	}
	return err == nil && (len(page.Events) > 0 && page.Events[0].LSN <= end || len(page.Events) == 0 && page.More), err
}

// note keeps the group of a counter, of too many those that came last.
func (f *foundGroups) note(seen map[ledger.Counter]bool, counter ledger.Counter) {
	identity := counter
	identity.Group = ""
	names, wanted := f.names[identity]
	if !wanted || seen[counter] {
		return
	}
	seen[counter] = true
	if len(names) == maxLimitCandidates {
		names = slices.Delete(names, 0, maxLimitCandidates/2)
		f.cut = true
	}
	f.names[identity] = append(names, counter.Group)
}

// windowStart returns when what a counter of a window counts at a time can have begun at the earliest.
func windowStart(w ledger.Window, now time.Time) time.Time {
	switch w {
	case ledger.Hour:
		return now.UTC().Truncate(time.Hour)
	case ledger.Day:
		return now.UTC().Truncate(24 * time.Hour)
	}
	return now.Add(-ledger.TaskIdle - time.Hour)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// LimitLines says how much a key's limits leave, a line each, for a person who has to decide: limits that can't be read don't keep them from it.
func (a *Decider) LimitLines(ctx context.Context, key *ledger.Key) (lines []string) {
	view, fault := a.Limits(ctx, key)
	if fault != nil {
		return []string{"limits: can't be read now: " + fault.Message}
	}
	for i := range view.Limits {
		if line := view.Limits[i].left(); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// left is the line of a limit; empty for one that counts groups apart of which none is in use.
func (l *LimitView) left() string {
	left, whose := l.Left, ""
	if len(l.GroupBy) > 0 {
		if len(l.Groups) == 0 {
			return ""
		}
		left, whose = l.Groups[0].Left, " of the group that has used most"
	}
	return strings.TrimSpace(fmt.Sprintf("left of %s: %s of %s %s", l.Rule, left, l.Limit, l.Unit)) + " in the " + l.Window + whose
}
