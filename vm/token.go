package vm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bailiff/vm/amount"
	"bailiff/vm/match"
	"bailiff/vm/wire"
)

// checkTokens sees to it that a symbol, and a contract on a chain, name one token only.
func (p *Program) checkTokens() error {
	if len(p.tokens) > maxTokens {
		return fmt.Errorf("the program has %d tokens: at most %d", len(p.tokens), maxTokens)
	}
	seen := make(map[string]bool, len(p.tokens))
	pinned := pinIndex{}
	for i := range p.tokens {
		t := &p.tokens[i]
		if err := t.validate(); err != nil {
			return fmt.Errorf("token %d: %w", i, err)
		}
		if seen[t.Symbol] {
			return fmt.Errorf("token %d: %q is another token's symbol", i, t.Symbol)
		}
		seen[t.Symbol] = true
		for _, pin := range t.Pins {
			if err := pinned.add(pin); err != nil {
				return fmt.Errorf("token %d: %w", i, err)
			}
		}
	}
	return nil
}

// A pinIndex has for each address the chains that it is pinned on.
type pinIndex map[string][]string

func (index pinIndex) add(pin Pin) error {
	for _, chain := range index[pin.Address] {
		if chain == pin.Chain || chain == "" || pin.Chain == "" {
			return fmt.Errorf("%s is pinned twice", pin.Address)
		}
	}
	index[pin.Address] = append(index[pin.Address], pin.Chain)
	return nil
}

func (t *Token) validate() error {
	switch {
	case t.Symbol == "" || match.HasUpper(t.Symbol):
		return fmt.Errorf("%q is not a symbol in lower case", t.Symbol)
	case t.Decimals > amount.MaxDecimals:
		return fmt.Errorf("%d decimals: at most %d", t.Decimals, amount.MaxDecimals)
	case len(t.Pins) > maxEntries:
		return fmt.Errorf("%d addresses: at most %d", len(t.Pins), maxEntries)
	}
	for _, pin := range t.Pins {
		if len(pin.Address) != match.AddressLength || len(match.Addresses(pin.Address)) == 0 || match.HasUpper(pin.Address) {
			return fmt.Errorf("%q is not an address in lower case", pin.Address)
		}
		if !isChain(pin.Chain) {
			return fmt.Errorf("%q is not the id of a chain", pin.Chain)
		}
	}
	return validateText(t.Symbol)
}

// isChain reports whether text is a chain's id in decimal, or empty.
func isChain(text string) bool {
	if text == "" {
		return true
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && strconv.FormatUint(n, 10) == text
}

// words describes the token for a listing.
func (t *Token) words() string {
	words := fmt.Sprintf("%s, %d decimals", t.Symbol, t.Decimals)
	for i, pin := range t.Pins {
		if i == shownEntries {
			return words + fmt.Sprintf(" and %d more", len(t.Pins)-i)
		}
		words += ", " + pin.String()
	}
	return words
}

// String returns the pin as policies spell it.
func (p Pin) String() string {
	if p.Chain == "" {
		return p.Address
	}
	return p.Chain + ":" + p.Address
}

// assembly returns the token's line.
func (t *Token) assembly() string {
	line := fmt.Sprintf("token %q decimals %d", t.Symbol, t.Decimals)
	for _, pin := range t.Pins {
		line += " " + strconv.Quote(pin.String())
	}
	return line
}

// token reads the line of a token.
func (a *assembler) token() Token {
	t := Token{Symbol: a.quoted()}
	a.expect("decimals")
	t.Decimals = uint8(a.number())
	for a.err == nil && len(a.words) > 0 {
		pin := Pin{Address: a.quoted()}
		if chain, address, ok := strings.Cut(pin.Address, ":"); ok {
			pin = Pin{chain, address}
			if chain == "" {
				a.err = errors.New("a pin without a chain has no colon")
			}
		}
		t.Pins = append(t.Pins, pin)
	}
	return t
}

func appendToken(b []byte, t *Token) []byte {
	b = append(wire.AppendText(b, t.Symbol), t.Decimals)
	b = wire.AppendCount(b, len(t.Pins))
	for _, pin := range t.Pins {
		b = wire.AppendText(wire.AppendText(b, pin.Chain), pin.Address)
	}
	return b
}

func (r *reader) token() Token {
	return Token{Symbol: r.Text(), Decimals: r.Byte(), Pins: wire.Rows(r, 2, func(r *reader) Pin {
		return Pin{Chain: r.Text(), Address: r.Text()}
	})}
}
