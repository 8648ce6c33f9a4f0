package main

import (
	"encoding/json"
	"fmt"

	"bailiff/vm"
)

// kinds.md has the ten rules in the sections that they belong to. Of these, an intent passes those of its kind, and
// those of the section custom.
var kinds = []struct {
	name string
	in   object // the intent, without metadata
	env  string // what metadata.env says, by which the last rule decides
}{
	{"native transfer", object{"action": "wallet.transfer", "amount": "1.5"}, "staging"},
	{"token transfer", object{"action": "wallet.transfer", "token": "USDC", "targetAddress": usdc, "amount": "250.50"}, "staging"},
	{"bash", object{"action": "bash", "command": "ls -la /srv/app && cat README.md"}, "staging"},
	{"web_fetch", object{"action": "web_fetch", "url": "https://api.example.net/v1/report"}, "staging"},
	{"email.send", object{"action": "email.send", "to": []string{"ann@example.com", "bob@example.org"}}, "staging"},
	{"bash, denied by the last rule", object{"action": "bash", "command": "ls -la /srv/app && cat README.md"}, "development"},
}

// kindQuestions returns the questions of kinds to the policy of their kinds.
func kindQuestions() ([]question, error) {
	program, err := compilePolicy("policy/kinds.md")
	if err != nil {
		return nil, err
	}
	judge, questions := runner(program, vm.First), []question(nil)
	for _, kind := range kinds {
		text, err := kindBody(kind.in, kind.env)
		if err != nil {
			return nil, err
		}
		ask, err := judge(request{body: text})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		questions = append(questions, ask)
	}
	return questions, nil
}

func kindBody(in object, env string) (string, error) {
	whole := object{"metadata": object{"env": env, "note": "monthly payout for the team", "reference": "2026-11"}}
	for name, value := range in {
		whole[name] = value
	}
	top := object{
		"framework": "agent-hooks", "agentId": "demo-agent", "intent": whole,
		"txCommit": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	if in["amount"] != nil {
		top["chainId"] = 8453
	}
	text, err := json.Marshal(top)
	return string(text), err
}
