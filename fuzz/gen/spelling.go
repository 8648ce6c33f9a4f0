package gen

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A form says how the texts of a field are spelled.
type form struct {
	field string
	// normal returns the normal spelling of a text. Without one that this package knows, ok is false.
	normal func(s *site, text string) (normal string, ok bool)
	// other returns some spelling of a text in normal spelling.
	other func(s *site, r *Rand, normal string) string
}

// forms are those of the fields that hold texts. amount, chainId, arguments and metadata have functions of their own.
var forms = []form{
	{"action", normalAction, otherCase},
	{"targetAddress", normalAddress, otherHexCase},
	{"token", normalToken, otherToken},
	{"maxFee", normalFee, func(_ *site, r *Rand, text string) string { return otherDecimal(r, text, 18) }},
	{"to", normalRecipient, otherRecipient},
	{"path", normalPath, otherPath},
	{"paths", normalPath, otherPath}, // of which one is `path`
	{"cwd", normalPath, otherPath},
	{"url", normalURL, otherURL},
	{"host", func(_ *site, text string) (string, bool) { return normalHost(text) }, func(_ *site, r *Rand, text string) string { return otherHost(r, text) }},
	{"calldata", normalHex, otherHexCase},
	{"userOpHash", normalHex, otherHexCase},
	plainText("command"), plainText("query"), plainText("task_id"), plainText("agentId"), plainText("context"),
}

// plainText is the form of a field that is its own form but for the addresses in it.
func plainText(field string) form {
	return form{field, func(_ *site, text string) (string, bool) { return foldLiterals(text), true },
		func(_ *site, r *Rand, text string) string { return otherLiterals(r, text) }}
}

// plain returns the text of a leaf that is a JSON string; nil is none.
func (n *Node) plain() (text string, ok bool) {
	if n == nil || n.Kids != nil || !strings.HasPrefix(n.Raw, `"`) {
		return "", false
	}
	if err := json.Unmarshal([]byte(n.Raw), &text); err != nil {
		return "", false
	}
	return text, Quote(text) == n.Raw
}

// Parse returns the tree of a JSON text; ok is false where it is none.
func Parse(text []byte) (n *Node, ok bool) {
	n = &Node{Raw: string(text)}
	n.parse()
	return n, n.Kids != nil
}

// parse makes a tree of a leaf that was written as raw JSON of a list or an object, and leaves all else as it is.
func (n *Node) parse() {
	if n.Kids != nil || !strings.HasPrefix(n.Raw, "[") && !strings.HasPrefix(n.Raw, "{") {
		return
	}
	decoder := json.NewDecoder(strings.NewReader(n.Raw))
	decoder.UseNumber()
	if parsed, ok := parseValue(decoder); ok && !decoder.More() {
		n.Kids, n.List, n.Raw = parsed.Kids, parsed.List, ""
	}
}

// parseValue reads one value. Numbers keep their spelling, and members their order.
func parseValue(decoder *json.Decoder) (*Node, bool) {
	token, err := decoder.Token()
	if err != nil {
		return nil, false
	}
	delimiter, compound := token.(json.Delim)
	if !compound {
		return &Node{Raw: rawToken(token)}, true
	}
	n := &Node{List: delimiter == '[', Kids: []*Node{}}
	for decoder.More() {
		name := ""
		if !n.List {
			token, err := decoder.Token()
			if err != nil {
				return nil, false
			}
			name = token.(string)
		}
		kid, ok := parseValue(decoder)
		if !ok {
			return nil, false
		}
		kid.Name = name
		n.Kids = append(n.Kids, kid)
	}
	_, err = decoder.Token()
	return n, err == nil
}

func rawToken(token json.Token) string {
	switch v := token.(type) {
	case string:
		return Quote(v)
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// literal is an address in another text; what is beside it must be no hexadecimal digit, which foldLiterals looks at.
var literal = regexp.MustCompile(`0x[0-9a-fA-F]{40}`)

// eachLiteral returns the text with every address in it replaced.
func eachLiteral(text string, replace func(string) string) string {
	var b strings.Builder
	last := 0
	for _, at := range literal.FindAllStringIndex(text, -1) {
		if at[0] > 0 && isHexDigit(text[at[0]-1]) || at[1] < len(text) && isHexDigit(text[at[1]]) {
			continue
		}
		b.WriteString(text[last:at[0]] + replace(text[at[0]:at[1]]))
		last = at[1]
	}
	return b.String() + text[last:]
}

func isHexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func foldLiterals(text string) string { return eachLiteral(text, strings.ToLower) }

func otherLiterals(r *Rand, text string) string {
	return eachLiteral(text, func(address string) string { return otherAddress(r, address) })
}

// otherAddress returns an address by its checksum, where it is one of this package's, or in upper case.
func otherAddress(r *Rand, lower string) string {
	for _, checksummed := range addresses {
		if strings.EqualFold(lower, checksummed) && r.Chance(65) {
			return checksummed
		}
	}
	return "0x" + strings.ToUpper(lower[2:])
}

func normalAddress(_ *site, text string) (string, bool) {
	return strings.ToLower(text), len(text) == 42 && literal.MatchString(text)
}

var hexText = regexp.MustCompile(`^0x([0-9a-fA-F]{2})*$`)

func normalHex(_ *site, text string) (string, bool) {
	return strings.ToLower(text), hexText.MatchString(text)
}

// otherHexCase returns hexadecimal digits in another case; of an address, its checksum.
func otherHexCase(_ *site, r *Rand, text string) string {
	if len(text) == 42 {
		return otherAddress(r, text)
	}
	if r.Chance(50) {
		return "0x" + strings.ToUpper(text[2:])
	}
	return mixCase(r, text)
}

func normalAction(_ *site, text string) (string, bool) {
	return strings.ToLower(text), !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// otherCase returns an ASCII text in another case.
func otherCase(_ *site, r *Rand, text string) string {
	if r.Chance(40) {
		return strings.ToUpper(text)
	}
	return mixCase(r, text)
}

// mixCase puts some letters of an ASCII text into upper case, but not the x of a leading 0x.
func mixCase(r *Rand, text string) string {
	mixed := []byte(text)
	for i, c := range mixed {
		if c >= 'a' && c <= 'z' && r.Chance(40) && !(i == 1 && c == 'x') {
			mixed[i] = c - 32
		}
	}
	return string(mixed)
}

// tokenRule returns the token rule that a token matches by symbol or by a pinned address, or nil.
func (s *site) tokenRule() *token {
	text, ok := s.intent.member("token").plain()
	if !ok {
		return nil
	}
	for i := range s.lore.tokens {
		t := &s.lore.tokens[i]
		if strings.EqualFold(t.symbol, text) || slices.ContainsFunc(s.pins(t), func(pin string) bool { return strings.EqualFold(pin, text) }) {
			return t
		}
	}
	return nil
}

// pins returns the addresses that a rule pins on the chain of the request.
func (s *site) pins(t *token) []string {
	chain := "none"
	if node := s.request.member("chainId"); node != nil {
		chain = normalNumber(node.Raw)
	}
	return t.pinnedOn(chain)
}

// normalToken returns the symbol of the rule that a token matches.
func normalToken(s *site, text string) (string, bool) {
	rule := s.tokenRule()
	if rule == nil {
		return strings.ToLower(text), !strings.ContainsFunc(text, func(c rune) bool { return c > '~' })
	}
	// An address grants by its own rule: it must be the target. By symbol any pinned address may be.
	if address, ok := normalAddress(s, text); ok {
		if target, _ := s.intent.member("targetAddress").plain(); !strings.EqualFold(target, address) {
			return address, true
		}
	}
	return strings.ToLower(rule.symbol), true
}

// otherToken returns the symbol in another case, or the pinned address that the request targets.
func otherToken(s *site, r *Rand, text string) string {
	if address, ok := normalAddress(s, text); ok {
		return otherAddress(r, address)
	}
	target, ok := s.intent.member("targetAddress").plain()
	if rule := s.tokenRule(); ok && rule != nil && r.Chance(60) {
		for _, pin := range s.pins(rule) {
			if strings.EqualFold(pin, target) {
				return r.Pick(strings.ToLower(pin), otherAddress(r, strings.ToLower(pin)))
			}
		}
	}
	return otherCase(s, r, text)
}

// native is the number of decimals of a native amount.
const native = 18

// decimals returns those of the request's amount, or ok false where no rule says them.
func (s *site) decimals() (n int, ok bool) {
	if s.intent.member("token") == nil {
		return native, true
	}
	if rule := s.tokenRule(); rule != nil {
		return rule.decimals, true
	}
	return 0, false
}

var decimal = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// shortest returns a decimal without zeros that say nothing.
func shortest(text string, decimals int) (string, bool) {
	if !decimal.MatchString(text) || len(text) > 120 {
		return "", false
	}
	units, ok := parseFixed(text, decimals)
	if !ok || units.Cmp(maximum) > 0 {
		return "", false
	}
	return fixed(units, decimals), true
}

func normalFee(_ *site, text string) (string, bool) { return shortest(text, native) }

// otherDecimal returns a decimal with zeros that say nothing.
func otherDecimal(r *Rand, text string, decimals int) string {
	whole, fraction, _ := strings.Cut(text, ".")
	whole = r.Pick("", "", "0", "00") + whole
	if room := decimals - len(fraction); room > 0 {
		fraction += strings.Repeat("0", r.N(min(room, 4)+1))
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// normalAmount writes the amount in human units, as short as it can be.
func (s *site) normalAmount() {
	leaf := s.intent.member("amount")
	text, isText := leaf.plain()
	decimals, known := s.decimals()
	if !isText || !known || s.request.member("amount") != nil {
		return
	}
	if unit := s.intent.member("amount_unit"); unit != nil {
		units, ok := new(big.Int).SetString(text, 10)
		if unit.Raw != `"base"` || !ok || strings.Trim(text, "0123456789") != "" || len(text) > 120 || units.Cmp(maximum) > 0 {
			return
		}
		s.intent.drop("amount_unit")
		text = fixed(units, decimals)
	}
	if normal, ok := shortest(text, decimals); ok {
		leaf.Raw = Quote(normal)
	}
}

// otherAmount writes it with zeros that say nothing, or in base units.
func (s *site) otherAmount() {
	leaf := s.intent.member("amount")
	text, isText := leaf.plain()
	decimals, known := s.decimals()
	if !isText || !known || s.intent.member("amount_unit") != nil || s.request.member("amount") != nil {
		return
	}
	if normal, ok := shortest(text, decimals); !ok || normal != text {
		return
	}
	switch {
	case !s.may(100):
	case s.r.Chance(50):
		units, _ := parseFixed(text, decimals)
		s.write(leaf, "amount", Quote(s.r.Pick("", "", "0")+units.String()))
		s.intent.text("amount_unit", "base")
		s.changed["amount"] = true
	default:
		s.write(leaf, "amount", Quote(otherDecimal(s.r, text, decimals)))
	}
}

// normalNumber returns a JSON number in the spelling of RFC 8785, for those that are small; all else as it is.
func normalNumber(raw string) string {
	value, err := strconv.ParseFloat(raw, 64)
	if err != nil || !json.Valid([]byte(raw)) || value > 1e15 || value < -1e15 || value != 0 && value > -1e-4 && value < 1e-4 {
		return raw
	}
	return strconv.FormatFloat(value+0, 'f', -1, 64)
}

// otherNumber returns another spelling of a JSON number in normal spelling.
func otherNumber(r *Rand, raw string) string {
	if raw == "" || strings.Trim(raw, "-.0123456789") != "" || normalNumber(raw) != raw {
		return raw
	}
	if strings.Contains(raw, ".") {
		return raw + r.Pick("0", "e0", "E+0", "000")
	}
	return raw + r.Pick(".0", "e0", "E0", ".00", "e+0", ".0e-0")
}
