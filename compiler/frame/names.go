package frame

// The rules that mean what no key says (decisions, section 1).
const (
	RuleNoToken   = "evm.token"                       // there is no rule for the token
	RuleUnbounded = "evm.calldata.unbounded_approval" // a call approves 2^256-1
)

// The keys that every section but the profiles has.
const (
	NameApproval = "require_approval"
	NameShim     = "require_shim"
)

// WordAttested is the one word of a key that is no operator.
const WordAttested = "attested"
