package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"bailiff/runtime/intent"
	"bailiff/vm"
)

// Fields are what the ten rules look at, decoded and normalised by Bailiff's own decoder, so that no engine pays for
// that. Names are exported for the engines that find them by reflection.
type Fields struct {
	Action, Host, Token, Command, Env, Note, Text string
	To                                            []string
	Chain                                         int64
	NativeText                                    string // the native amount as sent, in ether
	AmountText                                    string // the token's amount, in base units
}

// A request is one intent as a client sends it, and the rule that denies it, "" where none does: as this program calls
// it, and as Bailiff's policy does.
type request struct{ rule, matched, body string }

// usdc is the address that the policies pin.
const usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"

// requests are one that every rule allows, and for each rule one that this rule alone denies. The order is that in
// which every policy asks, so that the last denial has passed all rules.
var requests = []request{
	body("", "", func(top, in, meta, evm object) {}),
	body("text", "custom.deny_string", func(top, in, meta, evm object) { meta["reference"] = "-----BEGIN PRIVATE KEY-----" }),
	body("note", "custom.deny_if.metadata.note", func(top, in, meta, evm object) { meta["note"] = "for internal use" }),
	body("command", "custom.deny_if.command", func(top, in, meta, evm object) { in["command"] = "ls; rm -rf /srv" }),
	body("domain", "custom.deny_if.host", func(top, in, meta, evm object) { in["url"] = "https://raw.pastebin.com/x" }),
	body("chain", "evm.allowed_chains", func(top, in, meta, evm object) { top["chainId"] = 137 }),
	body("action", "evm.allowed_actions", func(top, in, meta, evm object) { in["action"] = "token.approve" }),
	body("native", "evm.max_transaction_eth", func(top, in, meta, evm object) { in["amount"] = "5.1" }),
	body("address", "evm.token", func(top, in, meta, evm object) { evm["token_target"] = "0xdac17f958d2ee523a2206206994597c13d831ec7" }),
	body("token", "evm.token.USDC.max_transaction", func(top, in, meta, evm object) { evm["token_amount"] = "1000000001" }),
	body("recipients", "custom.allow_only.to", func(top, in, meta, evm object) { in["to"] = []string{"ann@example.com", "eve@example.net"} }),
	body("environment", "custom.allow_only.metadata.env", func(top, in, meta, evm object) { meta["env"] = "development" }),
}

// oneWei is a request above the native limit by the least that there is, which arithmetic in doubles does not see.
var oneWei = body("native", "evm.max_transaction_eth", func(top, in, meta, evm object) { in["amount"] = "5.000000000000000001" })

// allowed and lastDenied are the two that are measured: for both of them, all rules are evaluated.
func allowed() request    { return requests[0] }
func lastDenied() request { return requests[len(requests)-1] }

type object = map[string]any

// body writes the request that every rule allows, with one change, which a rule denies.
func body(rule, matched string, change func(top, in, meta, evm object)) request {
	evm := object{
		"selector": "0xa9059cbb", "token_target": usdc, "token_amount": "250500000",
		"recipient": "0x4e59b44847b379578588920ca78fbf26c0b4956c",
	}
	meta := object{"evm": evm, "env": "staging", "note": "monthly payout for the team", "reference": "2026-11"}
	in := object{
		"action": "contract.call", "targetAddress": usdc, "amount": "1.5", "command": "ls -la /srv/app && cat README.md",
		"url": "https://api.example.net/v1/report", "to": []string{"ann@example.com", "bob@example.org"}, "metadata": meta,
	}
	top := object{
		"framework": "agent-hooks", "agentId": "demo-agent", "chainId": 8453, "intent": in,
		"txCommit": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	change(top, in, meta, evm)
	text, err := json.Marshal(top)
	if err != nil {
		panic(err) // texts and numbers can always be written
	}
	return request{rule, matched, string(text)}
}

// decode reads a request.
func decode(body string) (*intent.Intent, error) {
	return intent.NewDecoder(intent.Options{}).Decode([]byte(body))
}

// fieldsOf returns what the rules look at in a request.
func fieldsOf(body string) (*Fields, error) {
	in, err := decode(body)
	if err != nil {
		return nil, err
	}
	f := new(Fields)
	for name, target := range map[string]*string{
		"action": &f.Action, "host": &f.Host, "@evm.call.token": &f.Token, "command": &f.Command, "amount": &f.NativeText,
		"metadata.env": &f.Env, "metadata.note": &f.Note, "@text": &f.Text, "@evm.call.amount": &f.AmountText,
	} {
		value, err := in.Value(name, intent.Shim)
		if err != nil {
			return nil, err
		}
		if value.Kind != vm.String {
			return nil, fmt.Errorf("the request has no text as %s", name)
		}
		*target = value.Text
	}
	return f, f.rest(in)
}

// rest takes the fields that are no texts.
func (f *Fields) rest(in *intent.Intent) error {
	chain, err := in.Value("chainId", intent.Shim)
	if err != nil {
		return err
	}
	to, err := in.Value("to", intent.Shim)
	if err != nil {
		return err
	}
	for _, one := range to.Elems {
		f.To = append(f.To, one.Text)
	}
	f.Chain, err = strconv.ParseInt(chain.Text, 10, 64)
	return err
}
