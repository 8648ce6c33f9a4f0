package attest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxSubject   = 256 // characters, decisions on requests: agentId
	maxFramework = 64  // characters, specification: Limits
	maxAction    = 128 // characters of printable ASCII
	maxDecimals  = 36
	// maxInteger is the largest integer that every JSON reader keeps exactly (RFC 7493).
	maxInteger = 1<<53 - 1
	// maxUint256 is 2^256 - 1, the largest amount.
	maxUint256 = "115792089237316195423570985008687907853269984665640564039457584007913129639935"
)

// check reports the first rule of the attestation that the claims break, without wrapping it.
func (c *Claims) check() error {
	for _, rule := range []func(*Claims) error{
		(*Claims).checkText, (*Claims).checkNumbers, (*Claims).checkBinding, (*Claims).checkIntent,
	} {
		if err := rule(c); err != nil {
			return err
		}
	}
	return nil
}

func (c *Claims) checkText() error {
	switch {
	case !isText(c.Issuer):
		return errors.New("iss is empty or not UTF-8")
	case !isText(c.KeyID):
		return errors.New("keyId is empty or not UTF-8")
	case !isText(c.Subject) || utf8.RuneCountInString(c.Subject) > maxSubject:
		return fmt.Errorf("sub is not 1 to %d characters of UTF-8", maxSubject)
	case !isText(c.Framework) || utf8.RuneCountInString(c.Framework) > maxFramework:
		return fmt.Errorf("framework is not 1 to %d characters of UTF-8", maxFramework)
	case c.Mode != "" && c.Mode != ModeObserve:
		return fmt.Errorf("mode %q is neither empty nor %s", c.Mode, ModeObserve)
	}
	return nil
}

func (c *Claims) checkNumbers() error {
	switch {
	case c.IssuedAt <= 0 || c.IssuedAt > maxInteger-LifetimeSeconds:
		return fmt.Errorf("iat %d is not a time in Unix seconds", c.IssuedAt)
	case c.ChainID > maxInteger:
		return fmt.Errorf("chainId %d is beyond 2^53-1", c.ChainID)
	case c.ID == TokenID{}:
		return errors.New("jti is all zero: fill it with NewTokenID")
	}
	return nil
}

// checkBinding looks at what ties the attestation to one submission, one policy and one intent.
func (c *Claims) checkBinding() error {
	switch {
	case (c.TxCommit == "") == (c.UserOpHash == ""):
		return errors.New("exactly one of txCommit and userOpHash is needed")
	case c.TxCommit != "" && !isHex(c.TxCommit, 64):
		return errors.New("txCommit is not 64 lower-case hex digits")
	case c.UserOpHash != "" && !isPrefixedHex(c.UserOpHash, 64):
		return errors.New("userOpHash is not 0x and 64 lower-case hex digits")
	case c.UserOpHash != "" && c.Kind != KindEVM:
		return fmt.Errorf("userOpHash on an intent of kind %q", c.Kind)
	case !isHex(c.PolicyHash, 64):
		return errors.New("policyHash is not 64 lower-case hex digits")
	case !isHex(c.IntentHash, 64):
		return errors.New("intentHash is not 64 lower-case hex digits")
	}
	return nil
}

func (c *Claims) checkIntent() error {
	if !isAction(c.Intent.Action) {
		return fmt.Errorf("intent.action is not 1 to %d characters of printable ASCII", maxAction)
	}
	switch c.Kind {
	case KindEVM:
		if c.ChainID == 0 {
			return errors.New("chainId is missing on an EVM intent")
		}
		return c.Intent.checkEVM()
	case KindTool, KindMCP, kindModel:
		return c.Intent.checkOther(c.Kind)
	}
	return fmt.Errorf("kind %q is unknown", c.Kind)
}

func (i *Intent) checkEVM() error {
	switch {
	case !isAmount(i.AmountBase):
		return fmt.Errorf("intent.amountBase %q is not a decimal integer below 2^256", i.AmountBase)
	case i.TargetAddress != "" && !isPrefixedHex(i.TargetAddress, 40):
		return errors.New("intent.targetAddress is not 0x and 40 lower-case hex digits")
	case !utf8.ValidString(i.Token):
		return errors.New("intent.token is not UTF-8")
	case i.Decimals != nil && (*i.Decimals < 0 || *i.Decimals > maxDecimals):
		return fmt.Errorf("intent.decimals %d is not 0 to %d", *i.Decimals, maxDecimals)
	case i.CalldataHash != "" && !isHex(i.CalldataHash, 64):
		return errors.New("intent.calldataHash is not 64 lower-case hex digits")
	case i.MaxFeeBase != "" && !isAmount(i.MaxFeeBase):
		return fmt.Errorf("intent.maxFeeBase %q is not a decimal integer below 2^256", i.MaxFeeBase)
	}
	return i.To.check()
}

func (i *Intent) checkOther(kind string) error {
	if i.AmountBase != "" || i.TargetAddress != "" || i.Token != "" || i.Decimals != nil ||
		i.CalldataHash != "" || i.MaxFeeBase != "" || !i.To.absent() {
		return fmt.Errorf("intent of kind %s carries more than its action", kind)
	}
	return nil
}

func (r *Recipients) absent() bool { return len(r.List) == 0 && !r.Array }

func (r *Recipients) check() error {
	switch {
	case r.Array && len(r.List) == 0:
		return errors.New("intent.to is an empty array")
	case !r.Array && len(r.List) > 1:
		return fmt.Errorf("intent.to holds %d recipients, but is not marked as an array", len(r.List))
	}
	for n, to := range r.List {
		if !isText(to) {
			return fmt.Errorf("intent.to: recipient %d is empty or not UTF-8", n+1)
		}
	}
	return nil
}

func isText(s string) bool { return s != "" && utf8.ValidString(s) }

func isHex(s string, digits int) bool {
	if len(s) != digits {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func isPrefixedHex(s string, digits int) bool {
	rest, found := strings.CutPrefix(s, "0x")
	return found && isHex(rest, digits)
}

func isAction(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return s != "" && len(s) <= maxAction
}

// isAmount reports whether s is a decimal integer without leading zeros, at most 2^256 - 1. Strings of
// digits of one length order as their numbers do.
func isAmount(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	switch {
	case s == "" || len(s) > len(maxUint256):
		return false
	case len(s) > 1 && s[0] == '0':
		return false
	}
	return len(s) < len(maxUint256) || s <= maxUint256
}
