package main

import (
	"embed"
	"errors"
	"strconv"

	"bailiff/vm/amount"
)

//go:embed policy
var policies embed.FS

// An engine is one way to judge the ten rules.
type engine struct {
	name string
	// compile takes the policy from its text to what answers; nil where there is nothing to compile.
	compile func() (judge, error)
	// exact says whether the engine's numbers tell 5.000000000000000001 from 5.
	exact bool
}

// A judge turns a request into a question that can be asked again and again. Preparing it is not measured.
type judge func(r request) (ask question, err error)

// A question answers whether the request is allowed.
type question func() (bool, error)

// engines are all that are measured, Bailiff and the floor first.
var engines = []engine{
	{"Bailiff: compiled `warranty.md`, all ten", compileTen, true},
	{"Bailiff: the same, collecting every violation", compileTenAll, true},
	{"Bailiff: the bare ten rules, assembled", assembleTen, true},
	{floorName, byHand, true},
	{"expr", compileExpr, true},
	{"cedar-go, one `permit`", cedarOf("policy/permit.cedar"), false},
	{"cedar-go, ten `forbid`", cedarOf("policy/forbids.cedar"), false},
	{"cel-go", compileCEL, true},
	{"Casbin", compileCasbin, false},
	{"OPA, prepared query", compileOPA, true},
}

// baseline is the engine that the ratios of the table are about, and floorName the floor beside it.
const (
	baseline  = 0
	floorName = "the floor: Go by hand, same fields"
)

// errNotBool means an answer that is neither yes nor no.
var errNotBool = errors.New("the engine did not answer yes or no")

// policyText returns a policy of this folder.
func policyText(name string) (string, error) {
	text, err := policies.ReadFile(name)
	return string(text), err
}

// wei returns a native amount as 64 bits of base units, which hold up to 9.22 ether, and fails beyond.
func wei(ether string) (int64, error) {
	base, err := amount.Parse(ether, 18)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(base.String(), 10, 64)
}

// number returns a token's amount as 64 bits of base units.
func number(base string) (int64, error) { return strconv.ParseInt(base, 10, 64) }
