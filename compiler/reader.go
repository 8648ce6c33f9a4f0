package compiler

import "bailiff/grammar"

// valueOf returns a type whose values mean the same in every row.
func valueOf[T any](name Type, read func(*checker, *grammar.Entry) *T) valueType[T] {
	return valueType[T]{name, func(c *checker, _ *Key, entry *grammar.Entry) *T { return read(c, entry) }}
}

// The types of values that several sections have.
var (
	booleans       = valueOf(TypeBoolean, (*checker).boolean)
	counts         = valueOf(TypeInteger, func(c *checker, entry *grammar.Entry) *Count { return c.integer(entry, 1, maxCount) })
	actionPatterns = valueOf(TypePatterns, (*checker).patterns)
	oneWord        = valueType[Text]{TypeWord, (*checker).word}
	choices        = valueType[List]{TypeWords, (*checker).choices}
	nativeAmounts  = amounts(NativeDecimals, "ETH has")
)

// amounts returns the type of decimals with at most that many fraction digits. The unit is what has them, with its verb.
func amounts(decimals uint8, unit string) valueType[Limit] {
	return valueType[Limit]{TypeDecimal, func(c *checker, row *Key, entry *grammar.Entry) *Limit {
		return c.limit(row, entry, decimals, unit)
	}}
}

// isWord returns the type of a word that turns a flag on, among those of the row.
func isWord(on string) valueType[Flag] {
	return valueType[Flag]{TypeWord, func(c *checker, row *Key, entry *grammar.Entry) *Flag {
		word := c.word(row, entry)
		if word == nil {
			return nil
		}
		return &Flag{Span: entry.Span, On: word.Text == on}
	}}
}

// entriesOf returns the type of a list whose items the machine seeks in the forms that parse returns.
func entriesOf(name Type, code grammar.Code, parse func(string) ([]string, error), also ...func(*checker, grammar.Item)) valueType[List] {
	return valueOf(name, func(c *checker, entry *grammar.Entry) *List { return c.blocked(entry, code, parse, also...) })
}

// namesOf returns the type of a list of names that check has nothing against.
func namesOf(name Type, check func(string) problem) valueType[List] {
	return valueOf(name, func(c *checker, entry *grammar.Entry) *List { return c.nameList(entry, check) })
}
