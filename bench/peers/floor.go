package main

import (
	"strings"

	"bailiff/vm/amount"
)

var (
	maxNative = mustParse("5", 18)
	maxAmount = mustParse("1000", 6)
)

func mustParse(text string, decimals uint8) amount.Amount {
	a, err := amount.Parse(text, decimals)
	if err != nil {
		panic(err) // the texts above are amounts
	}
	return a
}

// byHand is the floor: what a Go programmer writes who knows the rules, and never changes them.
func byHand() (judge, error) {
	return func(r request) (question, error) {
		f, err := fieldsOf(r.body)
		if err != nil {
			return nil, err
		}
		return func() (bool, error) { return f.allowed(), nil }, nil
	}, nil
}

// allowed is the ten rules over decoded fields, with amounts of 256 bits, without saying which rule it was.
func (f *Fields) allowed() bool {
	if strings.Contains(f.Text, "BEGIN PRIVATE KEY") || strings.Contains(f.Note, "internal") {
		return false
	}
	if strings.Contains(f.Command, "rm -rf") || strings.Contains(f.Command, "mkfs") || strings.Contains(f.Command, "curl") {
		return false
	}
	switch f.Host {
	case "evil.example", "pastebin.com", "169.254.169.254":
		return false
	}
	if strings.HasSuffix(f.Host, ".evil.example") || strings.HasSuffix(f.Host, ".pastebin.com") {
		return false
	}
	if f.Chain != 1 && f.Chain != 10 && f.Chain != 8453 || f.Action != "wallet.transfer" && f.Action != "contract.call" {
		return false
	}
	return f.affordable() && f.wellAddressed() && (f.Env == "staging" || f.Env == "production")
}

// affordable is both rules about amounts.
func (f *Fields) affordable() bool {
	var native, token amount.Amount
	if native.Set(f.NativeText, 18) != nil || amount.Less(&maxNative, &native) {
		return false
	}
	return f.Token == usdc && token.Set(f.AmountText, 0) == nil && !amount.Less(&maxAmount, &token)
}

// wellAddressed is the rule about recipients.
func (f *Fields) wellAddressed() bool {
	for _, to := range f.To {
		if !strings.HasSuffix(to, "@example.com") && !strings.HasSuffix(to, "@example.org") {
			return false
		}
	}
	return len(f.To) > 0
}
