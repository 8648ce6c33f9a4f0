package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
)

// casbinFields are the fields with the numbers that matchers compute with.
type casbinFields struct {
	Action, Host, Token, Command, Env, Note, Text string
	To                                            []string
	Chain, Native, Amount                         float64
}

// casbinSubject is whom the one row of the policy is about.
const casbinSubject = "agents"

// compileCasbin asks once, since the matcher is parsed when it is first needed.
func compileCasbin() (judge, error) {
	text, err := policyText("policy/casbin.conf")
	if err != nil {
		return nil, err
	}
	m, err := model.NewModelFromString(text)
	if err != nil {
		return nil, err
	}
	enforcer, err := casbin.NewEnforcer(m)
	if err != nil {
		return nil, err
	}
	enforcer.AddFunction("contains", texts(strings.Contains))
	enforcer.AddFunction("endsWith", texts(strings.HasSuffix))
	enforcer.AddFunction("everyEndsWith", everyEndsWith)
	if _, err := enforcer.AddPolicy(casbinSubject); err != nil {
		return nil, err
	}
	if _, err := enforcer.Enforce(casbinSubject, &casbinFields{}); err != nil {
		return nil, err
	}
	return func(r request) (question, error) {
		f, err := fieldsOf(r.body)
		if err != nil {
			return nil, err
		}
		input, err := casbinInput(f)
		return func() (bool, error) { return enforcer.Enforce(casbinSubject, input) }, err
	}, nil
}

func casbinInput(f *Fields) (*casbinFields, error) {
	native, err := strconv.ParseFloat(f.NativeText, 64)
	if err != nil {
		return nil, err
	}
	units, err := strconv.ParseFloat(f.AmountText, 64)
	return &casbinFields{
		Action: f.Action, Host: f.Host, Token: f.Token, Command: f.Command, Env: f.Env, Note: f.Note, Text: f.Text,
		To: f.To, Chain: float64(f.Chain), Native: native, Amount: units,
	}, err
}

var errArguments = errors.New("the matcher calls a function with what it does not take")

// texts makes a matcher's function of two texts.
func texts(test func(string, string) bool) func(...any) (any, error) {
	return func(arguments ...any) (any, error) {
		if len(arguments) != 2 {
			return nil, errArguments
		}
		first, ok := arguments[0].(string)
		second, also := arguments[1].(string)
		if !ok || !also {
			return nil, errArguments
		}
		return test(first, second), nil
	}
}

// everyEndsWith reports whether there are texts, and each of them has one of the suffixes.
func everyEndsWith(arguments ...any) (any, error) {
	list, ok := arguments[0].([]string)
	if !ok {
		return nil, errArguments
	}
	for _, text := range list {
		found := false
		for _, suffix := range arguments[1:] {
			end, ok := suffix.(string)
			found = found || ok && strings.HasSuffix(text, end)
		}
		if !found {
			return false, nil
		}
	}
	return len(list) > 0, nil
}
