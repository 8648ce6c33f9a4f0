package compiler

// The counters of model budgets, whose values a task's requests report whether or not a policy has a budget. Spend is
// in millionths of a USD.
const (
	SpendCounter  = "execution_limits.max_model_spend_usd_per_task"
	TokensCounter = "execution_limits.max_model_tokens_per_task"
	// InputCounter and OutputCounter are the parts of the tokens: no budget is about them, and the total is never less than
	// both together.
	InputCounter  = "model_usage.input_tokens"
	OutputCounter = "model_usage.output_tokens"
)
