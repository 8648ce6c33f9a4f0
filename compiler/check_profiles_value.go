package compiler

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/form/resource"
)

// maxNameBytes bounds the names of a profile: refs, tables, routines, classes. It is more than git and databases take.
const maxNameBytes = 256

// ownRoots is the root that stands for those that the shim reports.
const ownRoots = "."

// unquoted reports values between quotes: a profile's values are taken as they are, so that quotes would be part of
// them.
func (c *checker) unquoted(row *Key, value *grammar.Value) {
	for _, item := range value.Items {
		if !item.Quoted {
			continue
		}
		d := grammar.At(CodeQuotedInProfile, item.Span, "the values of `%s` stand without quotes", row.Name).
			WithHint("remove the quotes")
		if item.Text != "" && !strings.ContainsAny(item.Text, "\"'#,<") && strings.TrimSpace(item.Text) == item.Text {
			d = d.WithFix(item.Span, item.Text)
		}
		c.add(d)
	}
}

// roots reads a list of roots.
func (c *checker) roots(entry *grammar.Entry) *List {
	list := &List{Span: entry.Span}
	for _, item := range c.list(entry) {
		if item.Text == ownRoots || resource.CanonicalRoot(item.Text) {
			list.Items = append(list.Items, Item{item.Text, item.Span})
		} else {
			c.add(notRoot(item))
		}
	}
	return list
}

// notRoot reports what is no root. The fix is there where the text means one directory only.
func notRoot(item grammar.Item) grammar.Diagnostic {
	d := grammar.At(CodeRoot, item.Span, "`%s` is no root: it %s", shorten(item.Text), resource.WhyNotCanonical(item.Text))
	clean := path.Clean(item.Text)
	switch {
	case clean == ownRoots:
		return d.WithHint("write `.`").WithFix(item.Span, ownRoots)
	case resource.CanonicalRoot(clean) && !strings.Contains(item.Text, ".."):
		return d.WithHint("write `%s`", shorten(clean)).WithFix(item.Span, clean)
	case strings.HasPrefix(item.Text, "~"):
		return d.WithHint("a shim reports whole paths; write the home directory out")
	}
	return d.WithHint("write a whole path, such as /workspace/repository, or `.` for the roots that the shim reports")
}

// blockedFiles reads a list of blocked paths, as those of `file_write.blocked_paths`.
func (c *checker) blockedFiles(entry *grammar.Entry) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.list(entry) {
		patterns, err := blockedPath(item.Text)
		if err != nil {
			c.add(grammar.At(CodeBlockedPath, item.Span, "%s", err))
		}
		for _, pattern := range patterns {
			if !seen[pattern] {
				seen[pattern] = true
				list.Items = append(list.Items, Item{pattern, item.Span})
			}
		}
	}
	return list
}

// A problem says what is wrong with a name and what to do; it is empty where nothing is.
type problem struct {
	code            grammar.Code
	message, remedy string
}

// nameList reads a list of names that check has nothing against.
func (c *checker) nameList(entry *grammar.Entry, check func(text string) problem) *List {
	list := &List{Span: entry.Span}
	for _, item := range c.list(entry) {
		if found := check(item.Text); c.refuseName(found, item.Span) && found.code != CodeRef {
			continue // a ref is kept: in a policy that is in force the finding is a warning
		}
		list.Items = append(list.Items, Item{item.Text, item.Span})
	}
	return list
}

// oneName reads a value that is one name. It returns nil after reporting.
func (c *checker) oneName(entry *grammar.Entry) *Text {
	value := entry.Value
	if len(value.Items) > 1 {
		c.add(grammar.At(CodeName, value.Span, "this is one name, and no list").WithHint("write one name, without commas"))
		return nil
	}
	if c.refuseName(checkName(value.Text), value.Span) {
		return nil
	}
	return &Text{Span: entry.Span, Item: Item{value.Text, value.Span}}
}

// refuseName reports a problem, if there is one.
func (c *checker) refuseName(p problem, span grammar.Span) bool {
	if p.message == "" {
		return false
	}
	d := grammar.At(p.code, span, "%s", p.message)
	if p.remedy != "" {
		d = d.WithHint("%s", p.remedy)
	}
	c.add(d)
	return true
}

// checkName bounds a name: of a class, an environment, a routine.
func checkName(text string) problem {
	switch {
	case text == "":
		return problem{CodeName, "a name is not empty", "write the name, or remove the line"}
	case len(text) > maxNameBytes:
		return problem{CodeName, fmt.Sprintf("a name has at most %d bytes, and this one %d", maxNameBytes, len(text)), "shorten it"}
	case strings.ContainsFunc(text, unicode.IsControl):
		return problem{CodeName, "a name cannot contain control characters", "write it without them"}
	}
	return problem{}
}

// checkRef checks a protected ref: exact, or the beginning of refs and `*`.
func checkRef(text string) problem {
	if strings.Contains(strings.TrimSuffix(text, "*"), "*") {
		return problem{CodeRef, "`" + shorten(text) + "` has a `*` that is not at its end", "write a ref, or the beginning of refs and one `*` at its end"}
	}
	name, open := strings.CutSuffix(text, "*")
	if open {
		name += "x" // any that the pattern covers
	}
	if why := resource.WhyNoRef(name); why != "" && text != "" {
		return problem{CodeRef, "`" + shorten(text) + "` covers no ref: it " + why, "write a name that `git check-ref-format` takes, such as `main` or `refs/heads/release/*`"}
	}
	return checkName(text)
}

// checkResource checks a pattern of resources.
func checkResource(text string) problem {
	switch {
	case strings.Trim(text, "*") == "":
		return problem{CodeResource, "a bare `*` would allow every resource", "name what is meant, such as `app.*`; to allow all of it, leave `allowed_resources` out"}
	case strings.Count(text, "*") > vm.MaxStars:
		return problem{CodeResource, fmt.Sprintf("a pattern has at most %d stars", vm.MaxStars), "write out the parts that are known"}
	}
	return checkName(text)
}

// lowered puts the items of a list into lower case, each once.
func lowered(list *List) *List {
	seen := map[string]bool{}
	kept := list.Items[:0]
	for _, item := range list.Items {
		if item.Text = strings.ToLower(item.Text); !seen[item.Text] {
			seen[item.Text] = true
			kept = append(kept, item)
		}
	}
	list.Items = kept
	return list
}
