package console

import "testing"

// TestConsole drives the console in one browser, in a tab or more each.
func TestConsole(t *testing.T) {
	s := newStage(t)
	holder, other := s.newKey(), s.newKey()
	s.work(holder)
	s.work(other)
	if *screenshots {
		t.Run("screenshots", func(t *testing.T) { takeScreenshots(t, s, holder) })
	}
	t.Run("group", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"pages":                 func(t *testing.T) { testPages(t, s, holder, true) },
			"pages without scripts": func(t *testing.T) { testPages(t, s, holder, false) },
			"filters":               func(t *testing.T) { testFilters(t, s, holder) },
			"verify":                func(t *testing.T) { testVerify(t, s, holder, other) },
			"problems":              func(t *testing.T) { testProblems(t, s, holder) },
			"keyboard":              func(t *testing.T) { testKeyboard(t, s, holder) },
			"live events":           func(t *testing.T) { testLive(t, s) },
			"markup":                func(t *testing.T) { testMarkup(t, s) },
			"foreign pages":         func(t *testing.T) { testForeign(t, s, holder) },
			"rebound name":          func(t *testing.T) { testRebinding(t, s) },
			"loopback address":      func(t *testing.T) { testLoopback(t, s, holder) },
			"cookie":                func(t *testing.T) { testCookie(t, s, other) },
			"revoked key":           func(t *testing.T) { testRevoked(t, s) },
			"planted faults":        func(t *testing.T) { testPlanted(t, s) },
			"other keys":            func(t *testing.T) { testOthers(t, s, holder, other) },
			"operator":              func(t *testing.T) { testOperator(t, s, holder) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}
