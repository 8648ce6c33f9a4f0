package main

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

func compileCEL() (judge, error) {
	text, err := policyText("policy/ten.cel")
	if err != nil {
		return nil, err
	}
	program, err := celProgram(text)
	if err != nil {
		return nil, err
	}
	return func(r request) (question, error) {
		f, err := fieldsOf(r.body)
		if err != nil {
			return nil, err
		}
		input, err := celInput(f)
		return func() (bool, error) {
			answer, _, err := program.Eval(input)
			if err != nil {
				return false, err
			}
			yes, ok := answer.Value().(bool)
			if !ok {
				return false, errNotBool
			}
			return yes, nil
		}, err
	}, nil
}

func celProgram(text string) (cel.Program, error) {
	options := []cel.EnvOption{cel.Variable("to", cel.ListType(cel.StringType))}
	for _, name := range []string{"action", "host", "token", "command", "env", "note", "text"} {
		options = append(options, cel.Variable(name, cel.StringType))
	}
	for _, name := range []string{"chain", "native", "amount"} {
		options = append(options, cel.Variable(name, cel.IntType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(ast, cel.EvalOptions(cel.OptOptimize))
}

// celInput has every value in the engine's own type, so that none is converted while it is asked.
func celInput(f *Fields) (cel.Activation, error) {
	native, err := wei(f.NativeText)
	if err != nil {
		return nil, err
	}
	units, err := number(f.AmountText)
	if err != nil {
		return nil, err
	}
	return cel.NewActivation(map[string]any{
		"action": types.String(f.Action), "host": types.String(f.Host), "token": types.String(f.Token),
		"command": types.String(f.Command), "env": types.String(f.Env), "note": types.String(f.Note),
		"text": types.String(f.Text), "to": types.NewStringList(types.DefaultTypeAdapter, f.To),
		"chain": types.Int(f.Chain), "native": types.Int(native), "amount": types.Int(units),
	})
}
