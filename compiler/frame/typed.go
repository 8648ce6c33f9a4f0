package frame

import (
	"bailiff/grammar"
	"bailiff/vm/amount"
)

// Item is one item of a list, in its normal form.
type Item struct {
	Text string
	Span grammar.Span
}

// List is the list of one entry. A nil List is absent.
type List struct {
	Span  grammar.Span // of the entry
	Items []Item
}

// Texts returns the items' texts.
func (l *List) Texts() []string {
	if l == nil {
		return nil
	}
	texts := make([]string, len(l.Items))
	for i, item := range l.Items {
		texts[i] = item.Text
	}
	return texts
}

// Limit is a decimal in human units, read exactly. A nil Limit is absent.
type Limit struct {
	Span     grammar.Span  // of the entry
	Amount   amount.Amount // in base units of 10^-Decimals
	Decimals uint8
}

// Flag is a boolean. A nil Flag is absent.
type Flag struct {
	Span grammar.Span // of the entry
	On   bool
}

// Count is a positive integer. A nil Count is absent.
type Count struct {
	Span grammar.Span // of the entry
	N    uint64
}

// Text is the text of one entry. A nil Text is absent.
type Text struct {
	Span grammar.Span // of the entry
	Item
}

// IsOn reports whether a flag is there and on.
func IsOn(flag *Flag) bool { return flag != nil && flag.On }

// Controls are what every section but the profiles can say of its intents as a whole.
type Controls struct {
	Approval *List // action patterns in lower case; of `## mcp` tool patterns in lower case
	Shim     *Flag
}

// SectionControls implements [Controlled].
func (c *Controls) SectionControls() *Controls { return c }

// A Problem says what is wrong with a name and what to do; it is empty where nothing is.
type Problem struct {
	Code            grammar.Code
	Message, Remedy string
}
