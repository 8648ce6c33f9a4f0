package mutants

// Gateway are the mutants of the gateways, and of what authorize judges as they do. Executing what is forwarded, and comparing
// what both say of a truthful intent, has to find each (package evm).
var Gateway = []Mutant{
	{"authorize lets calls run others", fileCallData, "\taccountCalls(e)\n", ""},
	{"authorize does not compare call data with the intent", fileCallData, "\tmatches(e)\n", ""},
	{"authorize does not judge calls of pinned contracts", fileCallData, "\tpinnedCalls(e)\n", ""},
	{"calls that run others pass", "runtime/gateway/judge.go", "if !t.accountCalls && (read.RunsCalls() ||", "if !t.accountCalls && (false &&"},
	{"a token's amount has no maximum", "runtime/gateway/judge.go", "read.Judged() && read.Amount.Cmp(rule.most) > 0", "read.Judged() && read.Amount.Cmp(rule.most) > 1"},
	{"a token's unknown methods pass", "runtime/gateway/judge.go", "!read.Judged() && !rule.methods[read.Selector]", "false"},
	{"a wallet may be sent data by itself", "runtime/gateway/judge.go", "c.Target == c.Sender && !terms.accountCalls", "false"},
	{"an operation may call an entry point", "runtime/gateway/judge.go", "c.Operation && g.isEntryPoint(c.Target)", "false"},
	{"tokens of anybody may be taken", "runtime/gateway/judge.go", "from := common.Address(read.From); from != c.Sender", "from := common.Address(read.From); from != from"},
	{"no check of the method", "runtime/gateway/judge.go", "if claims.Mode != attest.ModeObserve {", "if claims.Mode == attest.ModeObserve {"},
	{"fees are not held to the claim", "runtime/gateway/fee.go", "case s.cost.most.Cmp(bigOf(claimed)) > 0:", "case false:"},
	{"fees have no limit where none is claimed", "runtime/gateway/fee.go", "if limited && s.cost", "if limited && false && s.cost"},
	{"a paymaster's gas is never counted", "runtime/gateway/fee.go", "*s.cost.paymaster != s.sender && terms.ignorePaymaster", "*s.cost.paymaster != s.sender"},
	{"an account as its own paymaster is not counted", "runtime/gateway/fee.go", "*s.cost.paymaster != s.sender && terms.ignorePaymaster", "terms.ignorePaymaster"},
	{"0.6 asks a paymaster for the gas of verification once", "runtime/gateway/fee.go", "case op.Version == V06 && op.paymaster() != nil:", "case false:"},
	{"a paymaster's own gas limits are free", "runtime/gateway/fee.go", "case op.Version != V06 && len(op.PaymasterAndData) > 0:", "case false:"},
	{"preVerificationGas is free", "runtime/gateway/fee.go", "new(big.Int).Add(op.CallGas, op.PreVerification)", "new(big.Int).Set(op.CallGas)"},
	{"the native value is not held to the amount", "runtime/gateway/fit.go", "if c.Value.Cmp(declared) != 0 {", "if false {"},
	{"a token intent may carry native value", "runtime/gateway/fit.go", "case !c.Value.IsZero():", "case false:"},
	{"a token's amount is not held to the declared one", "runtime/gateway/fit.go", "case calldata.LargerAmount:\n\t\treturn misfitf(", "case calldata.LargerAmount:\n\t\treturn nil\n\t\treturn misfitf("},
}
