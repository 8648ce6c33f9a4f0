package main

import (
	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// exprFields are the fields with numbers of 64 bits.
type exprFields struct {
	Action, Host, Token, Command, Env, Note, Text string
	To                                            []string
	Chain, Native, Amount                         int
}

func compileExpr() (judge, error) {
	text, err := policyText("policy/ten.expr")
	if err != nil {
		return nil, err
	}
	program, err := expr.Compile(text, expr.Env(&exprFields{}), expr.AsBool())
	if err != nil {
		return nil, err
	}
	return func(r request) (question, error) {
		f, err := fieldsOf(r.body)
		if err != nil {
			return nil, err
		}
		env, err := exprEnv(f)
		machine := new(vm.VM)
		return func() (bool, error) {
			answer, err := machine.Run(program, env)
			yes, ok := answer.(bool)
			if err == nil && !ok {
				err = errNotBool
			}
			return yes, err
		}, err
	}, nil
}

func exprEnv(f *Fields) (*exprFields, error) {
	native, err := wei(f.NativeText)
	if err != nil {
		return nil, err
	}
	units, err := number(f.AmountText)
	return &exprFields{
		Action: f.Action, Host: f.Host, Token: f.Token, Command: f.Command, Env: f.Env, Note: f.Note, Text: f.Text,
		To: f.To, Chain: int(f.Chain), Native: int(native), Amount: int(units),
	}, err
}
