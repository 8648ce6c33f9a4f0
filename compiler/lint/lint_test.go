package lint

import "testing"

// TestOneEdit shows what is one edit, and what is more.
func TestOneEdit(t *testing.T) {
	for _, test := range []struct {
		word string
		want bool
	}{
		{"abcd", true}, {"abd", true}, {"bcd", true}, {"abc", true}, {"abxcd", true}, {"abcdx", true}, {"xbcd", true}, {"abdc", true}, {"bacd", true}, {"aabcd", true},
		{"ab", false}, {"abcdxx", false}, {"axxd", false}, {"badc", false}, {"cbad", false}, {"", false},
	} {
		if oneEdit(test.word, "abcd") != test.want || oneEdit("abcd", test.word) != test.want {
			t.Errorf("%q and %q: one edit is not %t", test.word, "abcd", test.want)
		}
	}
}
