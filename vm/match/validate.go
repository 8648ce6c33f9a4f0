package match

import (
	"fmt"
	"strings"
)

// Entries have one spelling and can match. The functions below say so of an entry that is valid UTF-8, bounded and not empty.

// ValidateText accepts texts; with Fold only those with an address in lower case.
func ValidateText(e *Entry) error {
	if e.Fold && len(Addresses(e.Text)) == 0 {
		return fmt.Errorf("%q is to be folded and contains no address", e.Text)
	}
	if e.Fold && LowerAddresses(e.Text) != e.Text {
		return fmt.Errorf("%q is to be folded and its address is not in lower case", e.Text)
	}
	return nil
}

// ValidateHost accepts names as they are after normalisation, with an optional dot in front.
func ValidateHost(e *Entry) error {
	name := strings.TrimPrefix(e.Text, ".")
	if e.Fold || name == "" || name[0] == '.' || name[len(name)-1] == '.' || HasUpper(name) {
		return fmt.Errorf("%q is not a host name in lower case, or one after a dot", e.Text)
	}
	return nil
}

// ValidatePath accepts patterns whose segments are not empty: a/b, /a/*/b, **/a, and / for every absolute path.
func ValidatePath(e *Entry) error {
	rest := strings.TrimPrefix(e.Text, floating)
	if rest == e.Text {
		rest = strings.TrimPrefix(rest, "/")
	}
	bad := e.Fold || rest == "" && e.Text != "/"
	if rest != "" {
		for segment := range strings.SplitSeq(rest, "/") {
			bad = bad || segment == "" || segment == "**"
		}
	}
	if bad {
		return fmt.Errorf("%q is not a path pattern such as /etc, /home/*/x or **/.env", e.Text)
	}
	return nil
}

// ValidateGlob accepts patterns that take few steps and have one spelling.
func ValidateGlob(e *Entry) error {
	if e.Fold {
		return fmt.Errorf("%.40q is a pattern: patterns compare bytes as they are, and nothing is folded", e.Text)
	}
	if n := strings.Count(e.Text, "*"); n > MaxStars {
		return fmt.Errorf("%.40q has %d stars: at most %d", e.Text, n, MaxStars)
	}
	return nil
}

// HasUpper reports whether a text has a capital letter of ASCII.
func HasUpper(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' }) >= 0
}
