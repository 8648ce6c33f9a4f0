package frame

import "bailiff/grammar"

// ValueOf returns a type whose values mean the same in every row.
func ValueOf[T any](name Type, read func(*Checker, *grammar.Entry) *T) ValueType[T] {
	return ValueType[T]{name, func(c *Checker, _ *Key, entry *grammar.Entry) *T { return read(c, entry) }}
}

// The types of values that several sections have.
var (
	Booleans       = ValueOf(TypeBoolean, (*Checker).Boolean)
	Counts         = ValueOf(TypeInteger, func(c *Checker, entry *grammar.Entry) *Count { return c.Integer(entry, 1, MaxCount) })
	ActionPatterns = ValueOf(TypePatterns, (*Checker).patterns)
	OneWord        = ValueType[Text]{TypeWord, (*Checker).word}
	Choices        = ValueType[List]{TypeWords, (*Checker).choices}
	NativeAmounts  = Amounts(NativeDecimals, "ETH has")
)

// Amounts returns the type of decimals with at most that many fraction digits. The unit is what has them, with its verb.
func Amounts(decimals uint8, unit string) ValueType[Limit] {
	return ValueType[Limit]{TypeDecimal, func(c *Checker, row *Key, entry *grammar.Entry) *Limit {
		return c.Limit(row, entry, decimals, unit)
	}}
}

// WordFlag returns the type of a word that turns a flag on, among those of the row.
func WordFlag(on string) ValueType[Flag] {
	return ValueType[Flag]{TypeWord, func(c *Checker, row *Key, entry *grammar.Entry) *Flag {
		word := c.word(row, entry)
		if word == nil {
			return nil
		}
		return &Flag{Span: entry.Span, On: word.Text == on}
	}}
}

// EntriesOf returns the type of a list whose items the machine seeks in the forms that parse returns.
func EntriesOf(name Type, code grammar.Code, parse func(string) ([]string, error), also ...func(*Checker, grammar.Item)) ValueType[List] {
	return ValueOf(name, func(c *Checker, entry *grammar.Entry) *List { return c.readEntries(entry, code, parse, also...) })
}

// NamesOf returns the type of a list of names that check has nothing against.
func NamesOf(name Type, check func(string) Problem) ValueType[List] {
	return ValueOf(name, func(c *Checker, entry *grammar.Entry) *List { return c.NameList(entry, check) })
}
