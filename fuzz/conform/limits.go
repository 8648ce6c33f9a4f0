package conform

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/oracle"
)

// A border is a limit that is tried at its border: a policy in which it is the one that refuses, and intents that it counts.
type border struct {
	rule     string
	decimals int    // of the limit and the amounts
	way      way    // in which intents use the limit up
	policy   string // with LIMIT
	intent   string // with AMOUNT, and GROUP where it has groups
}

// A way is how intents use a limit up.
type way uint8

const (
	adds   way = iota // each with its amount
	counts            // each is one
	tops              // the highest report of a task counts, whatever its decision was: tokens that were reported once are used
)

const (
	oneChain  = "## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1000000\n"
	oneToken  = oneChain + "token.USDC.decimals: 6\ntoken.USDC.max_transaction: 1000000\ntoken.USDC.addresses: 0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\n"
	oneTool   = "## tool_calls\nallowed: deploy\n"
	transfer  = `"intent":{"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"AMOUNT"},"chainId":1`
	toolCall  = `"intent":{"action":"deploy","task_id":"GROUP"}`
	spending  = `"intent":{"action":"deploy","task_id":"GROUP","metadata":{"customer":"GROUP","usd":"AMOUNT"}}`
	tokens    = `"intent":{"action":"deploy","task_id":"GROUP","metadata":{"model_usage":{"total_tokens":AMOUNT}}}`
	dollars   = `"intent":{"action":"deploy","task_id":"GROUP","metadata":{"model_usage":{"estimated_spend_usd":"AMOUNT"}}}`
	withToken = `"intent":{"action":"wallet.transfer","token":"USDC","targetAddress":"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48","amount":"AMOUNT"},"chainId":1`
	withFee   = `"intent":{"action":"wallet.transfer","targetAddress":"0x00000000000000000000000000000000000000aa","amount":"0","maxFee":"AMOUNT"},"chainId":1`
)

// borders are all limits but the impact limits, which need a shim and count as sums do.
var borders = []border{
	{"soft_limits.daily_evm_limit_eth", 18, adds, oneChain + "## soft_limits\ndaily_evm_limit_eth: LIMIT\n", transfer},
	{"soft_limits.daily_fee_eth", 18, adds, oneChain + "## soft_limits\ndaily_fee_eth: LIMIT\n", withFee},
	{"soft_limits.daily_token.USDC", 6, adds, oneToken + "## soft_limits\ndaily_token.USDC: LIMIT\n", withToken},
	{"soft_limits.daily_tool_calls", 0, counts, oneTool + "## soft_limits\ndaily_tool_calls: LIMIT\n", toolCall},
	{"execution_limits.max_tool_calls_per_task", 0, counts, oneTool + "## execution_limits\nmax_tool_calls_per_task: LIMIT\n", toolCall},
	{"execution_limits.max_tool_calls_per_hour", 0, counts, oneTool + "## execution_limits\nmax_tool_calls_per_hour: LIMIT\n", toolCall},
	{"soft_limits.cap.sums.max_sum_usd", 18, adds, oneTool + "## soft_limits\ncap.sums.max_sum_usd: LIMIT\ncap.sums.amount_field: metadata.usd\ncap.sums.action: deploy\ncap.sums.window: day\ncap.sums.group_by: metadata.customer\n", spending},
	{"soft_limits.cap.tasks.max_sum_usd", 18, adds, oneTool + "## soft_limits\ncap.tasks.max_sum_usd: LIMIT\ncap.tasks.amount_field: metadata.usd\ncap.tasks.action: \"*\"\ncap.tasks.window: task\n", spending},
	{"soft_limits.cap.counts.max_count", 0, counts, oneTool + "## soft_limits\ncap.counts.max_count: LIMIT\ncap.counts.action: deploy\ncap.counts.window: hour\ncap.counts.group_by: metadata.customer\n", spending},
	{"execution_limits.max_model_tokens_per_task", 0, tops, oneTool + "## execution_limits\nmax_model_tokens_per_task: LIMIT\n", tokens},
	{"execution_limits.max_model_spend_usd_per_task", 6, tops, oneTool + "## execution_limits\nmax_model_spend_usd_per_task: LIMIT\n", dollars},
}

// body is a request for an amount.
func (b *border) body(amount *big.Int, group string, number int) []byte {
	intent := strings.NewReplacer("AMOUNT", decimal(amount, b.decimals), "GROUP", group).Replace(b.intent)
	return fmt.Appendf(nil, `{"framework":"conform","agentId":"agent-%d","txCommit":"%064x",%s}`, number, number, intent)
}

// decimal writes base units in human units.
func decimal(n *big.Int, decimals int) string {
	if decimals == 0 {
		return n.String()
	}
	digits := fmt.Sprintf("%0*s", decimals+1, n.String())
	whole, fraction := digits[:len(digits)-decimals], strings.TrimRight(digits[len(digits)-decimals:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// A volley is a set of requests that are sent at once.
type volley struct {
	*border
	group   string
	amounts []*big.Int
	limit   *big.Int
}

// newVolley draws amounts whose sum is above a limit, by a unit as often as by much; of reports the highest is at the limit, or a unit
// above it.
func newVolley(r *gen.Rand, seed int64) *volley {
	v := &volley{border: &borders[r.N(len(borders))], group: fmt.Sprintf("g%d", uint64(seed))}
	n := 3 + r.N(14)
	sum := new(big.Int)
	for range n {
		amount := big.NewInt(1)
		switch {
		case v.way == counts:
		case r.Chance(50): // all alike
			amount = new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.decimals)), nil)
		default:
			amount = big.NewInt(1 + int64(r.N(1_000_000_000)))
		}
		v.amounts = append(v.amounts, amount)
		sum.Add(sum, amount)
	}
	switch v.limit = new(big.Int); {
	case v.way == tops:
		v.limit.Sub(v.highest(), big.NewInt(int64(r.N(2))))
	case r.Chance(40):
		v.limit.Sub(sum, v.amounts[n-1]).Div(v.limit, big.NewInt(2))
	default:
		v.limit.Sub(sum, v.amounts[n-1])
	}
	if v.limit.Sign() <= 0 {
		v.limit.SetInt64(1)
	}
	return v
}

// highest is the highest of the amounts.
func (v *volley) highest() *big.Int {
	return slices.MaxFunc(v.amounts, (*big.Int).Cmp)
}

// limitsUnit asks for more than a limit lets, all at once, and then for the rest of it, and for one unit more.
func (k *Kit) limitsUnit(ctx context.Context, s *session, seed int64) (cases int, found *finding, err error) {
	r := gen.NewRand(seed)
	v := newVolley(r, seed)
	now, err := k.wire.clear(ctx)
	if err != nil {
		return 0, nil, err
	}
	// Earlier units have used a part of the same counter; the limit is added to that part.
	used := new(big.Int)
	text := func(limit *big.Int) string {
		return k.unique(seed) + "version: 2.4.0\n" + strings.ReplaceAll(v.policy, "LIMIT", decimal(limit, v.decimals))
	}
	plan, err := v.plan(text(v.limit))
	if err != nil {
		return 0, nil, err
	}
	used.Set(s.history.Of(false).Limit(plan, now))
	v.limit.Add(v.limit, used)
	if found, err := s.deployText(ctx, text(v.limit), false); found != nil || err != nil {
		return 0, found, err
	}
	answers, err := s.volley(ctx, v)
	if err != nil {
		return 0, nil, err
	}
	if slices.ContainsFunc(answers, func(one shot) bool { return one.answer.crossed(now) }) {
		return 0, nil, notRun(hourBorder)
	}
	if found := s.judge(v, used, answers, now); found != nil {
		return len(answers), found, nil
	}
	if s.answers != nil { // which of them are allowed depends on their order, and with it what comes next
		fmt.Fprintf(s.answers, "%s %v of %s\n", v.rule, v.amounts, v.limit)
		known := s.answers
		s.answers = nil
		defer func() { s.answers = known }()
	}
	more, found, err := s.atBorder(ctx, v, plan)
	return len(answers) + more, found, err
}

// plan is the reservation that the border's intents make.
func (v *volley) plan(text string) (*oracle.Reservation, error) {
	subject, err := differential.NewSubject([]byte(text))
	if err != nil {
		return nil, err
	}
	e := differential.NewHistory().Decide(subject, differential.Request{Body: v.body(big.NewInt(1), v.group, 0), At: time.Unix(0, 0)})
	if len(e.Verdict.Reservations) != 1 || e.Verdict.Reservations[0].Rule != v.rule {
		return nil, fmt.Errorf("the border %s reserves %v", v.rule, e.Verdict.Reservations)
	}
	return &e.Verdict.Reservations[0], nil
}

// A shot is one request of a volley with its answer.
type shot struct {
	step   step
	amount *big.Int
	answer *reply
}

// volley sends all requests at once.
func (s *session) volley(ctx context.Context, v *volley) ([]shot, error) {
	shots := make([]shot, len(v.amounts))
	problems := make([]error, len(v.amounts))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i, amount := range v.amounts {
		shots[i] = shot{step: post("/v1/authorize", agent, s.keys[agent], v.body(amount, v.group, i)), amount: amount}
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			shots[i].answer, problems[i] = s.kit.wire.send(ctx, shots[i].step)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	for i := range shots {
		s.story = append(s.story, shots[i].step)
	}
	return shots, errors.Join(problems...)
}

// refusals are the codes of limits that are used up.
var refusals = []string{"SVC_AGGREGATE_LIMIT_EXCEEDED", "SVC_LOOP_LIMIT_EXCEEDED", "SVC_MODEL_TOKEN_LIMIT_EXCEEDED", "SVC_MODEL_SPEND_LIMIT_EXCEEDED"}

// judge holds the answers of a volley to every order in which they may have been decided.
func (s *session) judge(v *volley, used *big.Int, shots []shot, now time.Time) *finding {
	var allowed, refused []shot
	for _, one := range shots {
		m := parse(one.answer.body)
		passes := one.answer.status == http.StatusOK && m.text("status") == oracle.Allowed
		switch {
		case passes:
			allowed = append(allowed, one)
		case one.answer.status == http.StatusForbidden && m.text("matched_rule") == v.rule && slices.Contains(refusals, m.text("error_code")):
			refused = append(refused, one)
		default:
			return s.found(difference{"answer at a limit's border", "ALLOWED, or DENIED by " + v.rule, fmt.Sprintf("%d %s", one.answer.status, shorten(string(one.answer.body)))})
		}
		if passes || v.way == tops {
			s.history.Decide(s.subject, differential.Request{Body: one.step.body, PolicyHash: s.hash, At: now})
		}
	}
	wrong := v.added(used, allowed, refused)
	if v.way == tops {
		wrong = v.reported(allowed, refused)
	}
	if wrong.any() {
		return s.found(wrong)
	}
	return nil
}

// atOnce is what differs where the answers of a volley together are wrong.
const atOnce = "limit under requests that are sent at once"

// added: the allowed ones together are within the limit, and with a refused one the end would be beyond it. Counters only grow, so it
// would not have been before.
func (v *volley) added(used *big.Int, allowed, refused []shot) difference {
	total := new(big.Int).Set(used)
	for _, one := range allowed {
		total.Add(total, one.amount)
	}
	if total.Cmp(v.limit) > 0 {
		return difference{
			atOnce, fmt.Sprintf("at most %s by %s, in any order", decimal(v.limit, v.decimals), v.rule),
			fmt.Sprintf("%s was allowed in %d of %d requests", decimal(total, v.decimals), len(allowed), len(v.amounts)),
		}
	}
	for _, one := range refused {
		if after := new(big.Int).Add(total, one.amount); after.Cmp(v.limit) <= 0 {
			return difference{atOnce, fmt.Sprintf("%s allowed, since with it no more than %s of %s is used", decimal(one.amount, v.decimals), decimal(after, v.decimals), decimal(v.limit, v.decimals)), "DENIED"}
		}
	}
	return difference{}
}

// reported: a report above the limit is refused, and others are refused only after one.
func (v *volley) reported(allowed, refused []shot) difference {
	for _, one := range allowed {
		if one.amount.Cmp(v.limit) > 0 {
			return difference{atOnce, fmt.Sprintf("at most %s by %s, in any order", decimal(v.limit, v.decimals), v.rule), decimal(one.amount, v.decimals) + " was allowed"}
		}
	}
	if len(refused) > 0 && v.highest().Cmp(v.limit) <= 0 {
		return difference{atOnce, fmt.Sprintf("%s allowed, since no report is above %s", decimal(refused[0].amount, v.decimals), decimal(v.limit, v.decimals)), "DENIED"}
	}
	return difference{}
}

// atBorder asks for the rest, for one unit more, and for the service's own count.
func (s *session) atBorder(ctx context.Context, v *volley, plan *oracle.Reservation) (cases int, found *finding, err error) {
	now, err := s.kit.wire.clear(ctx)
	if err != nil {
		return 0, nil, err
	}
	left := new(big.Int).Sub(v.limit, s.history.Of(false).Limit(plan, now))
	one := big.NewInt(1)
	amounts := []*big.Int{new(big.Int).Add(left, one), left, one}
	switch v.way {
	case counts:
		amounts = slices.Repeat([]*big.Int{one}, int(left.Int64())+1)
	case tops:
		amounts = []*big.Int{left, new(big.Int).Add(left, one), one}
	}
	seen := map[string]int{}
	defer s.saw(seen)
	for i, amount := range amounts {
		for _, testRun := range []bool{true, false} {
			if _, found, err := s.ask(ctx, v.body(amount, v.group, len(v.amounts)+i), false, testRun, seen); found != nil || err != nil {
				return cases, found, err
			}
			cases++
		}
	}
	s.leaveOut(Limits, nextWindow, v.body(one, v.group, len(v.amounts)+len(amounts)), false, now, now.Add(24*time.Hour))
	if v.way == tops { // GET /v1/limits is about counters
		return cases, nil, nil
	}
	found, err = s.usedUp(ctx, v, plan)
	return cases + 1, found, err
}

// usedUp holds what GET /v1/limits says of the limit.
func (s *session) usedUp(ctx context.Context, v *volley, plan *oracle.Reservation) (*finding, error) {
	answer, found, err := s.request(ctx, get("/v1/limits", agent, s.keys[agent]), 200, "")
	if found != nil || err != nil {
		return found, err
	}
	now := answer.sent
	if answer.crossed(now) {
		return nil, notRun(hourBorder)
	}
	used := decimal(s.history.Of(false).Limit(plan, now), v.decimals)
	limits, _ := parse(answer.body)["limits"].([]any)
	for _, one := range limits {
		limit := members(asObject(one))
		if limit.text("rule") != v.rule {
			continue
		}
		says := limit.text("used")
		groups, _ := limit["groups"].([]any)
		for _, g := range groups {
			group := members(asObject(g))
			if names, _ := group["group"].([]any); len(names) > 0 && names[0] == v.group {
				says = group.text("used")
			}
		}
		if wrong := differ(same("limit of GET /v1/limits", decimal(v.limit, v.decimals), limit.text("limit")), same("use in GET /v1/limits", used, says)); wrong.any() {
			return s.found(wrong), nil
		}
		return nil, nil
	}
	return s.found(difference{"GET /v1/limits", "the limit " + v.rule, shorten(string(answer.body))}), nil
}
