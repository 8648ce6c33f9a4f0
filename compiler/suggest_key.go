package compiler

import (
	"slices"
	"strings"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/compiler/sections"
	"bailiff/grammar"
)

// otherKeyWords are what other formats call some of the words of keys.
var otherKeyWords = map[string]string{
	"networks": "chains", "network": "chains", "chain": "chains", "denied": "blocked", "deny": "blocked", "denylist": "blocked",
	"forbidden": "blocked", "disallowed": "blocked", "blacklist": "blocked", "blacklisted": "blocked", "banned": "blocked",
	"permitted": "allowed", "whitelist": "allowed", "whitelisted": "allowed", "allowlist": "allowed", "allow": "allowed",
	"amount": "transaction", "value": "transaction", "transfer": "transaction", "tx": "transaction", "gas": "fee", "shell": "bash",
	"calls": "calls", "hosts": "domains", "urls": "domains", "files": "paths", "address": "addresses",
}

// otherKeys are the keys that have another name altogether elsewhere, by section.
var otherKeys = map[string]map[string]string{
	"evm":        {"max_amount": "max_transaction_eth", "max_value": "max_transaction_eth", "networks": "allowed_chains", "chains": "allowed_chains", "chain_ids": "allowed_chains", "actions": "allowed_actions"},
	"tool_calls": {"tools": "allowed", "allowed_tools": "allowed", "http.allowed_domains": "http.allowed_hosts", "web_fetch.allowed_domains": "http.allowed_hosts", "web_fetch.allowed_hosts": "http.allowed_hosts", "http.blocked_domains": "web_fetch.blocked_domains", "http.blocked_hosts": "web_fetch.blocked_domains"},
}

// calledOtherwise returns the key of a section that other formats call so, or "".
func calledOtherwise(s *frame.Section, key *grammar.Key) string {
	name := strings.ToLower(key.Name())
	for _, word := range key.Words {
		name += "_" + strings.ToLower(word.Text)
	}
	name = strings.ReplaceAll(strings.TrimPrefix(name, s.Name+"."), "-", "_")
	if other := otherKeys[s.Name][name]; other != "" {
		return other
	}
	segments := strings.Split(name, ".")
	for i, segment := range segments {
		words := strings.Split(segment, "_")
		for j, word := range words {
			if other := otherKeyWords[word]; other != "" {
				words[j] = other
			}
		}
		segments[i] = strings.Join(words, "_")
	}
	for _, meant := range []string{name, strings.Join(segments, ".")} {
		if meant != key.Name() && slices.ContainsFunc(s.Keys, func(row *frame.Key) bool { return row.Name == meant && !row.Reserved }) {
			return meant
		}
	}
	return ""
}

// tokenShorthand returns the key that limits a token, where an unknown key is the token's name alone.
func tokenShorthand(s *frame.Section, key *grammar.Key) string {
	if s != sections.EVMSection || len(key.Segments) != 2 || key.Segments[0].Text != "token" || key.Scope != nil || len(key.Words) > 0 {
		return ""
	}
	return key.Name() + ".max_transaction"
}

// capitals returns how many entries from the first on have keys that would be known in small letters, if there are several.
func capitals(s *frame.Section, entries []*grammar.Entry) int {
	n := 0
	for _, entry := range entries {
		name := entry.Key.Name()
		if name == strings.ToLower(name) {
			break
		}
		known := slices.ContainsFunc(s.Keys, func(row *frame.Key) bool { return row.Name == strings.ToLower(name) })
		if !known || entry.Key.Scope != nil || len(entry.Key.Words) > 0 {
			break
		}
		n++
	}
	if n < 2 {
		return 0
	}
	return n
}

// capitalKeys reports entries that follow one another and have capitals in their keys.
func capitalKeys(c *frame.Checker, entries []*grammar.Entry) {
	var lines []string
	var text strings.Builder
	first, last := entries[0].Key.Span, entries[len(entries)-1].Key.Span
	at := first.Start
	for _, entry := range entries {
		text.WriteString(c.File.Source.Slice(grammar.Span{Start: at, End: entry.Key.Span.Start}) + strings.ToLower(entry.Key.Text))
		at = entry.Key.Span.End
		value := c.File.Source.Slice(grammar.Span{Start: entry.Key.Span.End, End: entry.Span.End})
		lines = append(lines, "`"+frame.Shorten(strings.ToLower(entry.Key.Text)+value)+"`")
	}
	c.Add(grammar.At(codes.UnknownKey, first, "keys are in small letters, and `%s` and those below it have capitals", frame.Shorten(entries[0].Key.Text)).
		WithHint("write %s", strings.Join(lines[:min(len(lines), 5)], ", ")).WithFix(first.To(last), text.String()))
	c.Partial = true
}

// closestKey returns the key of the section that an unknown key was probably meant to be: one that is spelled nearly so,
// or the only one that it is the beginning of; else "".
func closestKey(s *frame.Section, key *grammar.Key) string {
	var common, candidates []string // common are the keys that other engines have as well, which are meant rather
	segments := frame.KeySegments(key)
	for _, row := range s.Keys {
		if row.Modifies || row.Reserved {
			continue
		}
		candidates = append(candidates, spelledLike(row, segments))
		if !row.Since.Extends() {
			common = append(common, spelledLike(row, segments))
		}
	}
	written := frame.JoinSegments(segments)
	for _, names := range [][]string{common, candidates} {
		if longer := frame.OnlyContinuation(written, names); longer != "" {
			return longer
		}
	}
	return grammar.Closest(written, slices.DeleteFunc(candidates, func(name string) bool { return !frame.SameWords(written, name) }))
}

// keysEndingIn returns the keys of the section that end in an unknown one, of which its author left out the start.
func keysEndingIn(s *frame.Section, key *grammar.Key) []string {
	const least = 5 // fewer letters are the end of anything
	if key.Scope != nil || len(key.Words) > 0 || len(key.Name()) < least {
		return nil
	}
	var names []string
	for _, row := range s.Keys {
		open := row.Modifies || row.Reserved || strings.Contains(row.Name, "<")
		if !open && (strings.HasSuffix(row.Name, "."+key.Name()) || strings.HasSuffix(row.Name, "_"+key.Name())) {
			names = append(names, row.Name)
		}
	}
	return names
}

// spelledLike returns the row's names with the parts of a key in place of its placeholders.
func spelledLike(k *frame.Key, segments []grammar.Segment) string {
	var names []string
	for i, name := range k.Names {
		switch {
		case name == "<path>" && i < len(segments):
			names = append(names, frame.JoinSegments(segments[i:]))
		case frame.IsPlaceholder(name) && i < len(segments):
			names = append(names, segments[i].Text)
		default:
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

// sectionsWith returns the sections that have a key of exactly that form.
func sectionsWith(key *grammar.Key) []string {
	var names []string
	segments := frame.KeySegments(key)
	for _, row := range schema {
		if !row.Reserved && !row.Modifies && frame.MatchNames(row.Names, segments) {
			names = append(names, row.Section)
		}
	}
	return names
}
