package oracle

import (
	"math/big"
	"strings"

	"bailiff/grammar"
)

// A section is the plain entries of a section by key: both readings of every value. A nil section is one that the
// policy does not declare; it has no entries.
type section struct {
	texts map[string]string
	lists map[string][]string
}

func readSection(tree *grammar.Section) *section {
	if tree == nil {
		return nil
	}
	s := &section{map[string]string{}, map[string][]string{}}
	for _, entry := range tree.Entries {
		if entry.Value == nil {
			continue // chain_actions
		}
		name := entry.Key.String()
		s.texts[name] = entry.Value.Text
		s.lists[name] = append(s.lists[name], items(entry.Value)...)
	}
	return s
}

// items returns the list reading of a value.
func items(value *grammar.Value) []string {
	var list []string
	for _, item := range value.Items {
		list = append(list, item.Text)
	}
	return list
}

// entries returns the entries of a section that may be missing.
func entries(file *grammar.File, name string) []*grammar.Entry {
	if tree := file.Section(name); tree != nil {
		return tree.Entries
	}
	return nil
}

func (s *section) has(key string) bool {
	if s == nil {
		return false
	}
	_, ok := s.texts[key]
	return ok
}

func (s *section) text(key string) string {
	if s == nil {
		return ""
	}
	return s.texts[key]
}

func (s *section) list(key string) []string {
	if s == nil {
		return nil
	}
	return s.lists[key]
}

// flag reads a boolean: true or false in any case, in every version (specification, policy-text.6).
func (s *section) flag(key string) bool { return strings.EqualFold(s.text(key), "true") }

// number reads a limit, scaled by digits. It is nil where the key is absent.
func (s *section) number(key string, digits int) *big.Int {
	if !s.has(key) {
		return nil
	}
	number, _ := decimal(s.text(key), digits)
	return number
}

// actionCovered reports whether a list of action patterns covers an action in lower case.
func (s *section) actionCovered(key, action string) bool {
	for _, pattern := range s.list(key) {
		if actionPattern(pattern, action) {
			return true
		}
	}
	return false
}

// actionPattern reports whether pattern covers the action, which is in lower case. "An action pattern is an action,
// or the beginning of actions and one `*`"; "Actions are compared in lower case".
func actionPattern(pattern, action string) bool {
	pattern = asciiLower(pattern)
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(action, prefix)
	}
	return action == pattern
}
