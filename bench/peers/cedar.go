package main

import (
	"math"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
)

// cedarOf returns how a policy in Cedar is compiled.
func cedarOf(name string) func() (judge, error) {
	return func() (judge, error) {
		text, err := policyText(name)
		if err != nil {
			return nil, err
		}
		set, err := cedar.NewPolicySetFromBytes(name, []byte(text))
		if err != nil {
			return nil, err
		}
		entities := types.EntityMap{}
		return func(r request) (question, error) {
			f, err := fieldsOf(r.body)
			if err != nil {
				return nil, err
			}
			input, err := cedarInput(f)
			return func() (bool, error) {
				decision, diagnostic := cedar.Authorize(set, entities, input)
				if len(diagnostic.Errors) > 0 {
					return false, errNotBool
				}
				return bool(decision), nil
			}, err
		}, nil
	}
}

// cedarInput is a request whose context has the fields. Cedar has no test for each element of a set: the domains of the
// recipients are taken out beforehand. Its decimals have four fraction digits: what is more precise is rounded.
func cedarInput(f *Fields) (cedar.Request, error) {
	native, err := cedarDecimal(f.NativeText)
	if err != nil {
		return cedar.Request{}, err
	}
	units, err := number(f.AmountText)
	domains := make([]types.Value, 0, len(f.To))
	for _, to := range f.To {
		domains = append(domains, types.String(to[strings.LastIndexByte(to, '@')+1:]))
	}
	return cedar.Request{
		Principal: types.NewEntityUID("Agent", "demo-agent"), Action: types.NewEntityUID("Action", "authorize"),
		Resource: types.NewEntityUID("Service", "bailiff"),
		Context: types.NewRecord(types.RecordMap{
			"action": types.String(f.Action), "host": types.String(f.Host), "token": types.String(f.Token),
			"command": types.String(f.Command), "env": types.String(f.Env), "note": types.String(f.Note),
			"text": types.String(f.Text), "chain": types.Long(f.Chain), "native": native, "amount": types.Long(units),
			"domains": types.NewSet(domains...),
		}),
	}, err
}

// cedarDecimal rounds to the nearest of four fraction digits.
func cedarDecimal(text string) (types.Decimal, error) {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return types.Decimal{}, err
	}
	return types.NewDecimal(int64(math.Round(value*10_000)), -4)
}
