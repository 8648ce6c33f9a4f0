package lint

import (
	"index/suffixarray"
	"slices"
	"sort"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/grammar"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/form/fspath"
	"bailiff/vm/match"
)

// A claim is a text with what a rule says about it: that it, or what it is a part of, is denied or allowed.
type claim struct {
	operator frame.Operator
	text     string
	span     grammar.Span
	allows   bool
}

// lintCovered warns of rules that other rules leave nothing to do.
func (c *linter) lintCovered() {
	c.lintClaims()
	if t := c.policy.ToolCalls; t != nil {
		if t.BlockedCommands != nil {
			c.lintCommands(t.BlockedCommands)
			c.lintFlagOrder(t.BlockedCommands)
		}
		if t.BlockedDomains != nil {
			c.lintBelow(t.BlockedDomains, parentDomains)
		}
		for _, paths := range []*sections.Paths{&t.Write, &t.Read} {
			if paths.Blocked != nil {
				c.lintBelow(paths.Blocked, parentPaths)
			}
		}
		if t.Email.Blocked != nil {
			c.lintGlobs(t.Email.Blocked, match.Mailbox)
		}
		c.lintAllowedDead(t)
	}
	if m := c.policy.MCP; m != nil && m.BlockedTools != nil {
		c.lintGlobs(m.BlockedTools, match.Unbounded)
		index := frame.NewGlobIndex(match.Unbounded, m.BlockedTools.Texts())
		c.allowedDead(m.AllowedServers, "blocked_tools", func(server string) (string, bool) { return index.CoversTool(server + ".*") })
	}
}

// lintAllowedDead warns of paths, hosts and recipients that are allowed and blocked.
func (c *linter) lintAllowedDead(t *sections.ToolCalls) {
	c.lintListed(t)
	c.lintPathsDead(&t.Write, "file_write")
	c.lintPathsDead(&t.Read, "file_read")
	if t.BlockedDomains != nil {
		blocked := map[string]bool{}
		for _, domain := range t.BlockedDomains.Texts() {
			blocked[domain] = true
		}
		c.allowedDead(t.HTTP.AllowedHosts, "web_fetch.blocked_domains", func(host string) (by string, ok bool) {
			is := func(domain string) bool { by = domain; return blocked[domain] }
			host = strings.TrimPrefix(host, "*.")
			ok = is(host) || parentDomains(host, is)
			return by, ok
		})
	}
	if t.Email.Blocked != nil {
		index := frame.NewGlobIndex(match.Mailbox, t.Email.Blocked.Texts())
		c.allowedDead(t.Email.Allowed, "email.blocked_recipients", func(recipient string) (string, bool) { return index.Covers(recipient, false) })
	}
}

// lintPathsDead warns of paths that are allowed and blocked.
func (c *linter) lintPathsDead(paths *sections.Paths, tool string) {
	if paths.Blocked == nil {
		return
	}
	blocked := map[string]bool{}
	for _, pattern := range paths.Blocked.Texts() {
		blocked[pattern] = true
	}
	c.allowedDead(paths.Allowed, tool+".blocked_paths", func(allowed string) (by string, ok bool) {
		is := func(pattern string) bool { by = pattern; return blocked[pattern] }
		folded, _ := fspath.Clean(allowed)
		if strings.HasPrefix(allowed, ".") && folded != "." {
			folded = "**/" + folded
		}
		ok = is("/") || is(folded) || parentPaths(folded, is)
		return strings.TrimPrefix(by, "**/"), ok
	})
}

// allowedDead warns of the entries of a list that grants, all of which an entry of a block list covers.
func (c *linter) allowedDead(list *frame.List, key string, covered func(text string) (by string, ok bool)) {
	if list == nil {
		return
	}
	for _, item := range list.Items {
		if by, ok := covered(item.Text); ok {
			c.add(grammar.At(codes.AllowedDead, item.Span, "`%s` covers this with `%s`, so it is never allowed", key, frame.Shorten(by)).
				WithHint("remove it here"))
		}
	}
}

// covered warns of an entry of a block list that another covers.
func (c *linter) covered(span, by grammar.Span) {
	c.add(grammar.At(codes.Covered, span, "`%s` in line %d blocks this already", frame.Shorten(c.file.Source.Slice(by)), c.line(by)).
		WithHint("it does no harm; the wider entry is enough"))
}

func (c *linter) line(span grammar.Span) int { return c.file.Source.Position(span.Start).Line }

// lintClaims compares the custom rules about each path.
func (c *linter) lintClaims() {
	custom := c.policy.Custom
	if custom == nil || len(custom.Denials) == 0 {
		return
	}
	byPath := map[string][]claim{}
	var paths []string
	add := func(path string, claims ...claim) {
		if byPath[path] == nil {
			paths = append(paths, path)
		}
		byPath[path] = append(byPath[path], claims...)
	}
	for _, d := range custom.Denials {
		add(d.Path, claim{d.Operator, d.Value.Text, d.Value.Span, false})
	}
	for _, a := range custom.Allowances {
		for _, value := range a.Values {
			if byPath[a.Path] != nil {
				add(a.Path, claim{a.Operator, value.Text, value.Span, true})
			}
		}
	}
	for _, path := range paths {
		claims := byPath[path]
		for i, by := range coveredClaims(claims) {
			switch {
			case by < 0:
			case claims[i].allows:
				c.add(grammar.At(codes.DeadValue, claims[i].span, "line %d denies this value, so it is never allowed", c.line(claims[by].span)).
					WithHint("denials come first; leave the value out here"))
			default:
				c.add(grammar.At(codes.Covered, claims[i].span, "line %d denies all that this does", c.line(claims[by].span)).
					WithHint("it does no harm; the wider rule is enough"))
			}
		}
	}
}

// coveredClaims returns for each claim another one that denies all that it is about, or -1.
func coveredClaims(claims []claim) []int {
	by := make([]int, len(claims))
	if len(claims) < 2 {
		by[0] = -1
		return by
	}
	for i := range by {
		by[i] = -1
	}
	coverEqual(claims, by)
	coverStarts(claims, by, frame.StartsWith, func(text string) string { return text })
	coverStarts(claims, by, frame.EndsWith, reversed)
	coverParts(claims, by)
	return by
}

// coverEqual finds claims that say the same as one before, allowed values that are denied as such, and those that a
// not_equals leaves out.
func coverEqual(claims []claim, by []int) {
	type said struct {
		operator frame.Operator
		text     string
	}
	first := map[said]int{}
	for i := range claims {
		if claims[i].allows {
			continue
		}
		key := said{claims[i].operator, evmaddr.FoldLiterals(claims[i].text)}
		if before, ok := first[key]; ok {
			by[i] = before
		} else {
			first[key] = i
		}
	}
	only := slices.IndexFunc(claims, func(c claim) bool { return c.operator == frame.NotEquals })
	for i := range claims {
		if !claims[i].allows || claims[i].operator == frame.Matches {
			continue
		}
		text := evmaddr.FoldLiterals(claims[i].text)
		if before, ok := first[said{claims[i].operator, text}]; ok {
			by[i] = before
		} else if only >= 0 && claims[i].operator == frame.Equals && text != evmaddr.FoldLiterals(claims[only].text) {
			by[i] = only
		}
	}
}

// partial reports whether parts of the claim's text mean what they look like: addresses match in any case.
func (c *claim) partial() bool {
	for range evmaddr.Literals(c.text) {
		return false
	}
	return c.operator != frame.NotEquals && c.operator != frame.Matches
}

func reversed(text string) string {
	bytes := []byte(text)
	slices.Reverse(bytes)
	return string(bytes)
}

// coverStarts finds claims about texts that start, as turn gives them, with a text that is denied by that operator. In
// sorted order those follow it at once, but for others that it covers too.
func coverStarts(claims []claim, by []int, operator frame.Operator, turn func(string) string) {
	var order []int
	texts := make([]string, len(claims))
	for i := range claims {
		if o := claims[i].operator; claims[i].partial() && (o == operator || o == frame.Equals) {
			order = append(order, i)
			texts[i] = turn(claims[i].text)
		}
	}
	rank := func(i int) int { // of equal texts the denial comes first
		if claims[i].allows || claims[i].operator != operator {
			return 1
		}
		return 0
	}
	sort.SliceStable(order, func(a, b int) bool {
		if x, y := texts[order[a]], texts[order[b]]; x != y {
			return x < y
		}
		return rank(order[a]) < rank(order[b])
	})
	start := -1
	for _, i := range order {
		switch {
		case start >= 0 && strings.HasPrefix(texts[i], texts[start]):
			if by[i] < 0 {
				by[i] = start
			}
		case rank(i) == 0:
			start = i
		}
	}
}

// coverParts finds claims about texts that contain a text which is denied wherever it is.
func coverParts(claims []claim, by []int) {
	texts, owners := make([]string, len(claims)), make([]int, len(claims))
	for i := range claims {
		owners[i] = i
		if claims[i].partial() {
			texts[i] = claims[i].text
		}
	}
	isNeedle := func(i int) bool { return claims[i].operator == frame.Contains && !claims[i].allows }
	for i, needle := range containers(texts, owners, isNeedle) {
		if by[i] < 0 {
			by[i] = needle
		}
	}
}

// mostFinds bounds how often one text is looked for: more findings than that are not reported anyway.
const mostFinds = 2 * grammar.MaxDiagnostics

// containers returns for each text a needle that it contains, of another owner, or -1. Of equal texts the first one
// counts as the needle.
func containers(texts []string, owners []int, isNeedle func(int) bool) []int {
	by := make([]int, len(texts))
	var all []byte
	var starts []int
	needles := 0
	for i, text := range texts {
		by[i] = -1
		starts = append(starts, len(all))
		all = append(append(all, text...), 0xff) // which no valid text holds
		if text != "" && isNeedle(i) {
			needles++
		}
	}
	if needles == 0 || len(texts) < 2 {
		return by
	}
	index := suffixarray.New(all)
	for i, needle := range texts {
		if needle == "" || !isNeedle(i) {
			continue
		}
		for _, at := range index.Lookup([]byte(needle), mostFinds) {
			holder := sort.SearchInts(starts, at+1) - 1
			same := texts[holder] == needle && isNeedle(holder)
			if owners[holder] != owners[i] && by[holder] < 0 && (!same || i < holder) {
				by[holder] = i
			}
		}
	}
	return by
}

// lintCommands warns of blocked commands that hold another one.
func (c *linter) lintCommands(list *frame.List) {
	texts, owners := list.Texts(), make([]int, len(list.Items))
	for i, item := range list.Items {
		owners[i] = item.Span.Start
		for range evmaddr.Literals(item.Text) {
			texts[i] = ""
		}
	}
	by := containers(texts, owners, func(int) bool { return true })
	c.coveredEntries(list, func(i int) *frame.Item {
		if by[i] < 0 {
			return nil
		}
		return &list.Items[by[i]]
	})
}

// coveredEntries warns of the entries of a list all of whose items others cover. The items of an entry are together.
func (c *linter) coveredEntries(list *frame.List, by func(i int) *frame.Item) {
	for i := 0; i < len(list.Items); {
		span, all := list.Items[i].Span, true
		var other *frame.Item
		for ; i < len(list.Items) && list.Items[i].Span == span; i++ {
			if found := by(i); found == nil {
				all = false
			} else if other == nil {
				other = found
			}
		}
		if all {
			c.covered(span, other.Span)
		}
	}
}

// lintBelow warns of the entries of a list that lie below others. parents gives what an item lies below.
func (c *linter) lintBelow(list *frame.List, parents func(text string, is func(string) bool) bool) {
	items := make(map[string]*frame.Item, len(list.Items))
	for i := range list.Items {
		items[list.Items[i].Text] = &list.Items[i]
	}
	c.coveredEntries(list, func(i int) (found *frame.Item) {
		parents(list.Items[i].Text, func(parent string) bool {
			if other := items[parent]; other != nil && other.Span != list.Items[i].Span {
				found = other
			}
			return found != nil
		})
		return found
	})
}

// parentDomains asks about the domains above a host until one is.
func parentDomains(host string, is func(string) bool) bool {
	for {
		_, parent, ok := strings.Cut(host, ".")
		if !ok {
			return false
		}
		if is(parent) {
			return true
		}
		host = parent
	}
}

// parentPaths asks about the patterns that cover what lies below a pattern until one is.
func parentPaths(pattern string, is func(string) bool) bool {
	const floating, most = "**/", 32
	segments := strings.Split(strings.TrimPrefix(strings.TrimPrefix(pattern, floating), "/"), "/")
	if strings.HasPrefix(pattern, "/") && pattern != "/" && is("/") {
		return true
	}
	if !strings.HasPrefix(pattern, floating) {
		for end := len(pattern) - 1; end > 0; end-- {
			if pattern[end] == '/' && is(pattern[:end]) {
				return true
			}
		}
	}
	if len(segments) > most {
		return false
	}
	for from := range segments {
		for to := from + 1; to <= len(segments); to++ {
			if name := floating + strings.Join(segments[from:to], "/"); name != pattern && !strings.Contains(name, "~") && is(name) {
				return true
			}
		}
	}
	return false
}

// lintGlobs warns of the patterns of a list that others cover.
func (c *linter) lintGlobs(list *frame.List, style match.GlobStyle) {
	index := frame.NewGlobIndex(style, list.Texts())
	spans := map[string]grammar.Span{}
	for _, item := range list.Items {
		spans[item.Text] = item.Span
	}
	for _, item := range list.Items {
		if by, ok := index.Covers(item.Text, true); ok {
			c.covered(item.Span, spans[by])
		}
	}
}
