package laws

import (
	"regexp"
	"slices"
	"strings"

	"bailiff/compiler"
	"bailiff/compiler/frame"
	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/vm/errcode"
)

// MoreDenials holds that adding a rule that denies never turns DENIED into anything else, and turns nothing into anything but
// DENIED.
func (h *House) MoreDenials(b *gen.Batch) string {
	after := b.Policy.Clone()
	addDenial(gen.NewRand(b.Seed), after)
	return h.compare(b, after, func(was, is *differential.Verdict) string {
		switch {
		case is.Status == "DENIED" && was.Status != "ERROR":
			return ""
		case was.Status == "DENIED":
			return "one more denial let through what was denied"
		}
		return same(was, is)
	})
}

// blockLists are the lists that only narrow, with entries for each.
var blockLists = []struct {
	section, key string
	since        string // the first version that has the key
	entries      []string
}{
	{"tool_calls", "bash.blocked_commands", "1.0", []string{"ls", "rm -rf", "git"}},
	{"tool_calls", "web_fetch.blocked_domains", "1.0", []string{"api.example.com", "example.org", "8.8.8.8"}},
	{"tool_calls", "file_write.blocked_paths", "1.0", []string{"src", "/workspace", "~/notes"}},
	{"tool_calls", "file_read.blocked_paths", "2.4", []string{"src", "/workspace", "~/notes"}},
	{"tool_calls", "email.blocked_recipients", "1.0", []string{"*@example.com", "dan@example.com"}},
	{"tool_calls", "http.blocked_methods", "2.0", []string{"GET", "POST"}},
	{"mcp", "blocked_tools", "2.0", []string{"search", "read_x", "*.list.x"}},
	{"filesystem", "blocked_paths", "2.1", []string{"/workspace/repo", "a.go", ".env"}},
	{"git", "blocked_operations", "2.1", []string{"commit", "push_fast_forward", "fetch"}},
	{"git", "protected_refs", "2.1", []string{"refs/heads/topic", "feature-*"}},
}

// addDenial adds a rule of `## custom`, or an entry to a list of a section that the policy has.
func addDenial(r *gen.Rand, p *gen.Policy) {
	list := gen.One(r, blockLists)
	section := p.Section(list.section)
	if section == nil || p.Version < list.since || r.Chance(40) {
		addRule(r, p, gen.DenyRule(r))
		return
	}
	entry := section.Find(list.key)
	if entry == nil {
		raw := list.since == "2.1"
		section.Entries = append(section.Entries, gen.Entry{Key: list.key, Raw: raw})
		entry = &section.Entries[len(section.Entries)-1]
	}
	item := gen.One(r, list.entries)
	if !slices.Contains(entry.Values, item) {
		entry.Values = slices.Insert(entry.Values, r.N(len(entry.Values)+1), item)
	}
}

// addRule puts a rule anywhere into `## custom`.
func addRule(r *gen.Rand, p *gen.Policy, rule gen.Entry) {
	section := p.Section("custom")
	if section == nil {
		p.Sections = append(p.Sections, gen.Section{Name: "custom"})
		section = &p.Sections[len(p.Sections)-1]
	}
	section.Entries = slices.Insert(section.Entries, r.N(len(section.Entries)+1), rule)
}

// HigherLimits holds that raising limits never turns ALLOWED into DENIED, and what counters may hold falls nowhere.
func (h *House) HigherLimits(b *gen.Batch) string {
	after := b.Policy.Clone()
	raiseLimits(gen.NewRand(b.Seed), after)
	return h.compare(b, after, func(was, is *differential.Verdict) string {
		if was.Status == "ALLOWED" && is.Status != "ALLOWED" || was.Status == "PENDING" && is.Status != "PENDING" {
			return "a higher limit changed what was not denied"
		}
		if was.Status == "ALLOWED" || was.Status == "PENDING" {
			return lowered(was.Reservations, is.Reservations)
		}
		return ""
	})
}

// lowered reports counters that got fewer, or whose limit fell.
func lowered(was, is []differential.Reservation) string {
	if len(was) != len(is) {
		return "a higher limit changed which counters there are"
	}
	for i := range was {
		if was[i].Counter != is[i].Counter || was[i].Amount != is[i].Amount {
			return "a higher limit changed what a counter counts"
		}
		if less(is[i].Limit, was[i].Limit) {
			return "raising a limit lowered it"
		}
	}
	return ""
}

// less compares two integers of any size.
func less(x, y string) bool { return len(x) < len(y) || len(x) == len(y) && x < y }

// limitKeys matches a section, a space and a key that is a limit: a number beyond which the key denies.
var limitKeys = func() *regexp.Regexp {
	var forms []string
	for _, row := range compiler.Schema() {
		if (row.Type == frame.TypeDecimal || row.Type == frame.TypeInteger) && row.Code != "" && errcode.Lookup(row.Code).Class == errcode.Denial {
			forms = append(forms, placeholder.ReplaceAllString(regexp.QuoteMeta(row.Section+" "+row.Name), `[^.]+`))
		}
	}
	return regexp.MustCompile("^(" + strings.Join(forms, "|") + ")$")
}()

var placeholder = regexp.MustCompile("<[A-Za-z]+>")

// raiseLimits raises about half of the limits: a nine in front of the digits. What gets too large for its key does not
// compile, and is no matter of this law.
func raiseLimits(r *gen.Rand, p *gen.Policy) {
	for i := range p.Sections {
		for j := range p.Sections[i].Entries {
			entry := &p.Sections[i].Entries[j]
			if limitKeys.MatchString(p.Sections[i].Name+" "+entry.Key) && len(entry.Values[0]) < 16 && r.Chance(50) {
				entry.Values[0] = "9" + entry.Values[0]
			}
		}
	}
}
