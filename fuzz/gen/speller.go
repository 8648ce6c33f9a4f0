package gen

import (
	"maps"
	"slices"
	"strings"
)

// Speller rewrites the requests for one policy without changing what they say (decisions, section 2, "One value, one
// form"). Values that have no normal form, or none that this package knows, stay as they are.
type Speller struct{ lore *lore }

// NewSpeller returns the speller for a policy, which must not change any more.
func NewSpeller(p *Policy) *Speller { return &Speller{newLore(p)} }

// site is the request whose values are spelled.
type site struct {
	lore            *lore
	r               *Rand
	request, intent *Node
	action          string // in lower case
	percent         int    // of the values that have another spelling, how many get one
	changed         map[string]bool
}

func (s *Speller) site(r *Rand, body *Node) *site {
	at := &site{lore: s.lore, r: r, request: body.Clone(), changed: map[string]bool{}}
	at.intent = at.request.member("intent")
	if at.intent == nil || at.intent.Kids == nil || at.intent.List {
		at.intent = object("intent")
	}
	for _, place := range []*Node{at.request, at.intent} {
		if text, ok := place.member("action").plain(); ok {
			at.action = strings.ToLower(text)
		}
	}
	return at
}

// Normal returns a copy of a body with each value in its normal spelling.
func (s *Speller) Normal(body *Node) *Node {
	at := s.site(nil, body)
	at.gather()
	at.normalAmount()
	for _, place := range []*Node{at.request, at.intent} {
		for _, kid := range place.Kids {
			at.normalField(kid)
		}
	}
	at.dropDerived()
	return at.request
}

// Respell returns a copy of a body in normal spelling in which some values, and the places of some, are written in
// other ways that are equal, and the names of their forms in order.
func (s *Speller) Respell(r *Rand, body *Node) (respelled *Node, changed []string) {
	at := s.site(r, body)
	at.percent = One(r, []int{6, 12, 30, 70})
	at.otherAmount()
	at.addDerived()
	for _, place := range []*Node{at.request, at.intent} {
		for _, kid := range place.Kids {
			at.otherField(kid)
		}
	}
	at.scatter()
	return at.request, slices.Sorted(maps.Keys(at.changed))
}

// Forms returns the names of all forms, in order: fields of a request, and the parts of them that have a form of
// their own.
func Forms() []string {
	names := []string{"amount", "chainId", "metadata", "arguments", "metadata.serverId", "metadata.toolName"}
	for _, form := range forms {
		names = append(names, form.field)
	}
	slices.Sort(names)
	return names
}

// may is true for so many of a hundred of the values that get another spelling.
func (s *site) may(percent int) bool { return s.r.Chance(s.percent) && s.r.Chance(percent) }

// eitherPlace are the fields that may be beside `intent` or in it.
var eitherPlace = []string{"action", "amount", "to"}

// gather puts fields of either place, and arguments, where their normal place is.
func (s *site) gather() {
	for _, field := range eitherPlace {
		if node := s.request.member(field); node != nil && s.request.times(field) == 1 && s.intent.member(field) == nil && s.request.member("intent") != nil {
			s.request.drop(field)
			s.intent.Kids = append(s.intent.Kids, node)
		}
	}
	if paths := s.intent.member("paths"); paths != nil && paths.List && len(paths.Kids) == 1 && s.isFileTool() && s.intent.times("paths") == 1 {
		s.intent.drop("paths")
		s.intent.Kids = append(s.intent.Kids, &Node{Name: "path", Raw: paths.Kids[0].Raw})
	}
	inner := s.intent.member("metadata").member("arguments")
	if inner != nil && s.intent.times("metadata") == 1 && s.intent.member("arguments") == nil && inner.Kids != nil && !inner.List {
		s.intent.member("metadata").drop("arguments")
		s.intent.Kids = append(s.intent.Kids, inner)
	}
}

// scatter is the reverse of gather.
func (s *site) scatter() {
	if s.request.member("intent") == nil {
		return
	}
	for _, field := range eitherPlace {
		node := s.intent.member(field)
		if node == nil || s.request.member(field) != nil || s.intent.times(field) > 1 || !s.may(25) {
			continue
		}
		s.changed[field] = true
		s.request.Kids = append(s.request.Kids, node.Clone())
		if s.r.Chance(60) {
			s.intent.drop(field)
		}
	}
	if path := s.intent.member("path"); path != nil && s.isFileTool() && s.intent.times("path") == 1 && s.may(50) {
		s.intent.drop("path")
		s.intent.Kids = append(s.intent.Kids, &Node{Name: "paths", List: true, Kids: []*Node{{Raw: path.Raw}}})
		s.changed["paths"] = true
	}
	s.scatterArguments()
}

// isFileTool reports whether one path may be written as a list.
func (s *site) isFileTool() bool {
	_, path := s.intent.member("path").plain()
	return slices.Contains(fileTools, s.action) && s.intent.member("url") == nil && path != (s.intent.member("paths") != nil)
}

// times returns how many members have that name: a request that no policy accepts may have two.
func (n *Node) times(name string) int {
	count := 0
	for _, kid := range n.Kids {
		if kid.Name == name {
			count++
		}
	}
	return count
}

func (s *site) scatterArguments() {
	arguments, metadata := s.intent.member("arguments"), s.intent.member("metadata")
	if arguments == nil || !s.may(70) || metadata.member("arguments") != nil {
		return
	}
	if metadata == nil {
		metadata = object("metadata")
		s.intent.Kids = append(s.intent.Kids, metadata)
	}
	if metadata.Kids == nil || metadata.List {
		return
	}
	s.changed["arguments"] = true
	metadata.Kids = append(metadata.Kids, arguments.Clone())
	if s.r.Chance(70) {
		s.intent.drop("arguments")
	}
}

// normalField puts one field into its normal spelling.
func (s *site) normalField(n *Node) {
	switch n.Name {
	case "intent", "amount", "amount_unit":
	case "chainId":
		n.Raw = normalNumber(n.Raw)
	case "arguments", "metadata":
		s.normalTree(n)
	default:
		s.eachText(n, func(form *form, leaf *Node, text string) {
			if normal, ok := form.normal(s, text); ok {
				leaf.Raw = Quote(normal)
			}
		})
	}
}

// otherField puts one field into some other spelling, now and then.
func (s *site) otherField(n *Node) {
	switch n.Name {
	case "intent", "amount", "amount_unit":
	case "chainId":
		if s.may(100) {
			s.write(n, "chainId", otherNumber(s.r, n.Raw))
		}
	case "arguments", "metadata":
		s.otherTree(n, n.Name)
	default:
		s.eachText(n, func(form *form, leaf *Node, text string) {
			if normal, ok := form.normal(s, text); ok && normal == text && s.may(100) {
				s.write(leaf, form.field, Quote(form.other(s, s.r, text)))
			}
		})
	}
}

// write replaces a leaf, and remembers that it did.
func (s *site) write(leaf *Node, name, raw string) {
	if leaf.Raw != raw {
		leaf.Raw = raw
		s.changed[name] = true
	}
}

// eachText calls do with every text of a field that has a form.
func (s *site) eachText(n *Node, do func(*form, *Node, string)) {
	at := slices.IndexFunc(forms, func(f form) bool { return f.field == n.Name })
	if at < 0 {
		return
	}
	if text, ok := n.plain(); ok {
		do(&forms[at], n, text)
	}
	for _, kid := range n.Kids {
		if text, ok := kid.plain(); ok && n.List {
			do(&forms[at], kid, text)
		}
	}
}

// normalTree puts what lies below metadata or arguments into its normal spelling.
func (s *site) normalTree(n *Node) {
	n.parse()
	for _, kid := range n.Kids {
		s.normalTree(kid)
	}
	if n.Kids != nil {
		return
	}
	if text, ok := n.plain(); ok {
		n.Raw = Quote(foldLiterals(text))
	} else {
		n.Raw = normalNumber(n.Raw)
	}
}

func (s *site) otherTree(n *Node, name string) {
	for _, kid := range n.Kids {
		s.otherTree(kid, name)
	}
	if n.Kids != nil || !s.may(100) {
		return
	}
	if text, ok := n.plain(); ok {
		s.write(n, name, Quote(otherLiterals(s.r, text)))
	} else {
		s.write(n, name, otherNumber(s.r, n.Raw))
	}
}

// derivedParts are the members of metadata that an MCP action has itself.
var derivedParts = []string{"serverId", "toolName"}

// mcpParts returns the server and the tool of an MCP action, or ok false.
func (s *site) mcpParts() (parts [2]string, ok bool) {
	rest, isMCP := strings.CutPrefix(s.action, "mcp.")
	server, tool, ok := strings.Cut(rest, ".")
	return [2]string{server, tool}, isMCP && ok
}

// dropDerived leaves out what a request says twice: the parts of an MCP action, and those of a URL.
func (s *site) dropDerived() {
	metadata := s.intent.member("metadata")
	if parts, ok := s.mcpParts(); ok {
		for i, name := range derivedParts {
			if text, isText := metadata.member(name).plain(); isText && strings.EqualFold(text, parts[i]) {
				metadata.drop(name)
			}
		}
	}
	for name, part := range s.urlParts() {
		if text, isText := s.intent.member(name).plain(); isText && text == part {
			s.intent.drop(name)
		}
	}
}

// addDerived says twice what dropDerived leaves out, in any spelling.
func (s *site) addDerived() {
	if parts, ok := s.mcpParts(); ok {
		for i, name := range derivedParts {
			if s.may(50) && s.intent.member("metadata").member(name) == nil {
				s.intent.text("metadata."+name, otherCase(s, s.r, parts[i]))
				s.changed["metadata."+name] = true
			}
		}
	}
	parts := s.urlParts()
	for _, name := range []string{"host", "path", "query"} {
		if part, has := parts[name]; has && s.intent.member(name) == nil && s.may(20) {
			s.intent.text(name, part)
			s.changed[name] = true
		}
	}
}

// urlParts returns what a URL in normal spelling says of the fields that it derives.
func (s *site) urlParts() map[string]string {
	text, ok := s.intent.member("url").plain()
	if !ok {
		return nil
	}
	parts, ok := splitURL(text)
	if !ok {
		return nil
	}
	derived := map[string]string{"host": parts.host, "path": parts.path}
	if parts.query != "" {
		derived["query"] = parts.query[1:]
	}
	return derived
}

// IntegerAmount returns two copies of a body in normal spelling whose amount is in base units: one that leaves that to
// the service, and one that says so. scaled reports whether the same digits would be another amount in human units; ok is
// false where the request has no amount that can be written so.
func (s *Speller) IntegerAmount(body *Node) (unmarked, marked *Node, scaled, ok bool) {
	at := s.site(nil, body)
	text, isText := at.intent.member("amount").plain()
	decimals, known := at.decimals()
	if normal, isDecimal := shortest(text, decimals); !isText || !known || !isDecimal || normal != text || at.intent.member("amount_unit") != nil {
		return nil, nil, false, false
	}
	units, _ := parseFixed(text, decimals)
	at.intent.member("amount").Raw = Quote(units.String())
	unmarked = at.request.Clone()
	at.intent.text("amount_unit", "base")
	_, readable := shortest(units.String(), decimals) // the digits may be too many for an amount in human units
	return unmarked, at.request, readable && decimals > 0 && units.Sign() > 0, true
}
