package gateway

import (
	"strings"

	"github.com/ethereum/go-ethereum/common"

	"bailiff/runtime/attest"
	"bailiff/vm/form/calldata"
)

// checkCall holds a call to the policy, whatever the intent declares: to what authorize has judged too, by the same table of
// methods, and to what only the sender shows (decisions, section 2, "Calls that run other calls"). The error is a misfit.
func (g *Gateway) checkCall(c *Call, claims *attest.Claims, terms *Terms) error {
	read := c.read()
	if claims.Mode != attest.ModeObserve { // otherwise authorize has let through what the policy denies
		if err := terms.checkMethod(c, &read, &claims.Intent, claims.ChainID); err != nil {
			return err
		}
	}
	return g.checkSender(c, &read, terms)
}

// checkMethod refuses a method that runs other calls, and on a contract that the policy pins a method that no rule can judge,
// or that moves more than the contract's rule allows.
func (t *Terms) checkMethod(c *Call, read *calldata.Call, intent *attest.Intent, chain uint64) error {
	rule := t.ruleOf(spell(c.Target), chain)
	if !t.accountCalls && (read.RunsCalls() || rule != nil && read.Method != nil && read.Method.Kind == calldata.Multicall) {
		return misfitf("the call is %s, which runs further calls that are not judged (evm.account_calls); make them one by one, or have the policy say evm.account_calls: allow", read.Method.Signature)
	}
	switch {
	case rule == nil || read.Empty() || intent.Token != "":
		return nil
	case read.Judged() && read.Malformed:
		return misfitf("the arguments of %s on the %s contract are cut off; send all of them", read.Method.Signature, rule.symbol)
	case read.Judged() && read.Amount.Cmp(rule.most) > 0:
		return misfitf("%s is of %s %s, and at most %s is allowed (evm.token.%s.max_transaction)", read.Method.Signature,
			read.Amount.Format(rule.decimals), rule.symbol, rule.most.Format(rule.decimals), rule.symbol)
	case !read.Judged() && !rule.methods[read.Selector]:
		return misfitf("the %s contract's method %s is not one whose amount a rule can judge (evm.token.%s.methods); have the policy's token.%s.methods name it",
			rule.symbol, read.Selector, rule.symbol, rule.symbol)
	}
	return nil
}

// checkSender refuses what a wallet must not be made to do: an account executes what it is sent by itself, an EntryPoint what
// an account sends it, and a token takes from any account that once approved the sender.
func (g *Gateway) checkSender(c *Call, read *calldata.Call, terms *Terms) error {
	switch {
	case len(c.Data) > 0 && c.Target == c.Sender && !terms.accountCalls:
		return misfitf("the call goes to the sender %s itself and has data (bytes: %d), which a wallet with code executes; make the calls one by one, or have the policy say evm.account_calls: allow", spell(c.Sender), len(c.Data))
	case len(c.Data) > 0 && c.Operation && g.isEntryPoint(c.Target):
		return misfitf("the operation calls the entry point %s, which can run further operations; send a transaction for that", spell(c.Target))
	}
	return checkOwner(c, read)
}

func (g *Gateway) isEntryPoint(a common.Address) bool {
	return g.EntryPoints[a] != 0 || canonicalPoints[a] != 0
}

// canonicalPoints are the canonical entry points, whatever SVC_ENTRY_POINTS says.
var canonicalPoints, _ = parseEntryPoints("")

// checkOwner refuses a method that moves the tokens of anybody but the sender. Authorizations of EIP-3009 pass: the owner
// signed that very transfer.
func checkOwner(c *Call, read *calldata.Call) error {
	if read.Method == nil || read.Method.Kind != calldata.TransferFrom || strings.HasSuffix(read.Method.Name(), "WithAuthorization") {
		return nil
	}
	if read.Malformed {
		return misfitf("the arguments of %s are cut off, and with them whose tokens it moves; send all of them", read.Method.Signature)
	}
	if from := common.Address(read.From); from != c.Sender {
		return misfitf("%s takes from %s, and the sender is %s; only the sender's own tokens can be moved", read.Method.Name(), spell(from), spell(c.Sender))
	}
	return nil
}
