package console

import "testing"

// TestConsole drives the console in one browser, in a tab or more each.
func TestConsole(t *testing.T) {
	s := newStage(t)
	holder, other := s.newKey(), s.newKey()
	own, foreign := s.work(holder), s.work(other)
	t.Run("group", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"pages":                 func(t *testing.T) { testPages(t, s, holder, true) },
			"pages without scripts": func(t *testing.T) { testPages(t, s, holder, false) },
			"filters":               func(t *testing.T) { testFilters(t, s, holder) },
			"verify":                func(t *testing.T) { testVerify(t, s, own, foreign, holder) },
			"problems":              func(t *testing.T) { testProblems(t, s, holder) },
			"keyboard":              func(t *testing.T) { testKeyboard(t, s, holder) },
		} {
			t.Run(name, test)
		}
	})
}
