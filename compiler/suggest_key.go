package compiler

import (
	"slices"
	"strings"

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
func calledOtherwise(section string, key *grammar.Key) string {
	name := strings.ToLower(key.Name())
	for _, word := range key.Words {
		name += "_" + strings.ToLower(word.Text)
	}
	name = strings.ReplaceAll(strings.TrimPrefix(name, section+"."), "-", "_")
	if other := otherKeys[section][name]; other != "" {
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
		if meant != key.Name() && slices.ContainsFunc(bySection[section], func(row *Key) bool { return row.Name == meant && !row.Reserved }) {
			return meant
		}
	}
	return ""
}

// tokenShorthand returns the key that limits a token, where an unknown key is the token's name alone.
func tokenShorthand(section string, key *grammar.Key) string {
	if section != "evm" || len(key.Segments) != 2 || key.Segments[0].Text != "token" || key.Scope != nil || len(key.Words) > 0 {
		return ""
	}
	return key.Name() + ".max_transaction"
}

// capitals returns how many entries from the first on have keys that would be known in small letters, if there are several.
func capitals(section string, entries []*grammar.Entry) int {
	n := 0
	for _, entry := range entries {
		name := entry.Key.Name()
		if name == strings.ToLower(name) {
			break
		}
		known := slices.ContainsFunc(bySection[section], func(row *Key) bool { return row.Name == strings.ToLower(name) })
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
func (c *checker) capitalKeys(entries []*grammar.Entry) {
	var lines []string
	var text strings.Builder
	first, last := entries[0].Key.Span, entries[len(entries)-1].Key.Span
	at := first.Start
	for _, entry := range entries {
		text.WriteString(c.file.Source.Slice(grammar.Span{Start: at, End: entry.Key.Span.Start}) + strings.ToLower(entry.Key.Text))
		at = entry.Key.Span.End
		value := c.file.Source.Slice(grammar.Span{Start: entry.Key.Span.End, End: entry.Span.End})
		lines = append(lines, "`"+shorten(strings.ToLower(entry.Key.Text)+value)+"`")
	}
	c.add(grammar.At(CodeUnknownKey, first, "keys are in small letters, and `%s` and those below it have capitals", shorten(entries[0].Key.Text)).
		WithHint("write %s", strings.Join(lines[:min(len(lines), 5)], ", ")).WithFix(first.To(last), text.String()))
	c.partial = true
}
