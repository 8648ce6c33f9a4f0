package gen

func (b *builder) addSoftLimits() {
	s := b.section("soft_limits")
	if b.may() {
		s.scalar("daily_evm_limit_eth", b.limit(18))
	}
	if b.from(2, 4) {
		b.dailySums(s)
	}
	b.maybeCount(s, "daily_tool_calls")
	names := b.r.Some(1+b.density/25, "swaps", "cap-1", "spend_usd", "All")
	if len(s.Entries) > 0 && !b.may() {
		names = nil
	}
	for _, name := range names {
		b.cap(s, "cap."+name+".")
	}
	b.common(s, actionPatterns)
}

// dailySums adds the sums of format 2.4: of fees, and of tokens that have a rule.
func (b *builder) dailySums(s *Section) {
	if b.may() {
		s.scalar("daily_fee_eth", b.limit(18))
	}
	for _, known := range tokens {
		if b.policy.Value("evm", "token."+known.symbol+".decimals") != "" && b.may() {
			s.scalar("daily_token."+known.symbol, b.limit(known.decimals))
		}
	}
}

// groupPaths are what caps group by: every field that has a form, and some that are their own.
var groupPaths = []string{"metadata.customer.id", "metadata.team", "metadata.tags", "metadata.wallet", "arguments.q", "metadata.arguments.q",
	"agentId", "task_id", "targetAddress", "chainId", "action", "token", "token", "to", "to", "path", "url", "host", "calldata", "amount", "command", "query"}

func (b *builder) cap(s *Section, key string) {
	if b.r.Chance(50) {
		s.scalar(key+"max_count", b.count())
	} else {
		s.scalar(key+"max_sum_usd", b.r.Pick("1", "250.50", "0.01", "1000000"))
		s.scalar(key+"amount_field", b.r.Pick("metadata.usd", "arguments.price", "metadata.order.total", "metadata.arguments.price"))
	}
	s.scalar(key+"window", b.r.Pick("day", "hour", "task"))
	s.scalar(key+"action", b.r.Pick(append([]string{"*"}, actionPatterns...)...))
	if b.r.Chance(50) {
		s.scalar(key+"group_by", b.r.Pick(groupPaths...))
	}
}

func (b *builder) addExecutionLimits() {
	s := b.section("execution_limits")
	b.maybeCount(s, "max_tool_calls_per_task")
	b.maybeCount(s, "max_tool_calls_per_hour")
	if b.may() {
		s.scalar("max_model_spend_usd_per_task", b.r.Pick("2.50", "0.000001", "1000", "10"))
	}
	if b.may() || len(s.Entries) == 0 {
		s.scalar("max_model_tokens_per_task", b.count())
	}
	b.common(s, actionPatterns)
}
