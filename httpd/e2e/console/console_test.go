package console

import "testing"

// TestConsole drives the console in one browser, in a tab or more each.
func TestConsole(t *testing.T) {
	s := newStage(t)
	holder, other := s.newKey(), s.newKey()
	s.work(holder)
	s.work(other)
	if *screenshots {
		t.Run("screenshots", func(t *testing.T) {
			takeScreenshots(t, s, s.holder(holder), pictured)
			takeScreenshots(t, s, s.operator(holder), picturedOperator)
		})
	}
	t.Run("group", func(t *testing.T) {
		t.Run("operator", func(t *testing.T) { // the longest comes first
			t.Parallel()
			testOperator(t, s, holder, other)
		})
		t.Run("approvals", func(t *testing.T) {
			t.Parallel()
			testApprovals(t, s)
		})
		v := s.holder(holder)
		for name, test := range map[string]func(*testing.T){
			"pages":                 func(t *testing.T) { testPages(t, s, v, true) },
			"pages without scripts": func(t *testing.T) { testPages(t, s, v, false) },
			"filters":               func(t *testing.T) { testFilters(t, s, holder) },
			"verify":                func(t *testing.T) { testVerify(t, s, holder, other) },
			"problems":              func(t *testing.T) { testProblems(t, s, holder) },
			"keyboard":              func(t *testing.T) { testKeyboard(t, s, v) },
			"live events": func(t *testing.T) {
				k := s.newKey()
				testLive(t, s, s.holder(k), "keys", "revoke", k.ID)
			},
			"markup":           func(t *testing.T) { testMarkup(t, s) },
			"foreign pages":    func(t *testing.T) { testForeign(t, s, v, other) },
			"rebound name":     func(t *testing.T) { testRebinding(t, s, v) },
			"loopback address": func(t *testing.T) { testLoopback(t, s, v, "127.0.0.1") },
			"cookie":           func(t *testing.T) { testCookie(t, s, s.holder(other)) },
			"revoked key":      func(t *testing.T) { testRevoked(t, s) },
			"planted faults":   func(t *testing.T) { testPlanted(t, s, s.holder(s.newKey()), planted) },
			"other keys":       func(t *testing.T) { testOthers(t, s, holder, other) },
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
}
