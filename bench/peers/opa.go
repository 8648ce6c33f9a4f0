package main

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
)

func compileOPA() (judge, error) {
	text, err := policyText("policy/ten.rego")
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	query, err := rego.New(rego.Query("data.ten.allow"), rego.Module("ten.rego", text)).PrepareForEval(ctx)
	if err != nil {
		return nil, err
	}
	return func(r request) (question, error) {
		f, err := fieldsOf(r.body)
		if err != nil {
			return nil, err
		}
		input, err := opaInput(f)
		return func() (bool, error) {
			answer, err := query.Eval(ctx, rego.EvalParsedInput(input))
			if err != nil {
				return false, err
			}
			if len(answer) != 1 || len(answer[0].Expressions) != 1 {
				return false, errNotBool
			}
			yes, ok := answer[0].Expressions[0].Value.(bool)
			if !ok {
				return false, errNotBool
			}
			return yes, nil
		}, err
	}, nil
}

// opaInput is the fields as the engine's own values. Numbers keep every digit.
func opaInput(f *Fields) (ast.Value, error) {
	return ast.InterfaceToValue(map[string]any{
		"action": f.Action, "host": f.Host, "token": f.Token, "command": f.Command, "env": f.Env, "note": f.Note,
		"text": f.Text, "to": f.To, "chain": json.Number(strconv.FormatInt(f.Chain, 10)),
		"native": json.Number(f.NativeText), "amount": json.Number(f.AmountText),
	})
}
