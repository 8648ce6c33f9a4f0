package conform

import (
	"slices"
	"testing"
	"time"
)

// TestLawsCatch plants answers that break each law, and answers that do not.
func TestLawsCatch(t *testing.T) {
	allowed, pending := said{http: 200, status: "ALLOWED", claims: "{1}"}, said{http: 202, status: "PENDING", code: "HOLD", rule: "a.b", hold: "1"}
	denied, refused := said{http: 403, status: "DENIED", code: "X", rule: "a.b"}, said{http: 400, status: "DENIED", code: "SCHEMA"}
	changed := func(a said, change func(*said)) said { change(&a); return a }
	otherRule := func(a *said) { a.rule = "a.c" }
	type pair struct{ was, is said }
	for name, planted := range map[string]struct{ breaks, keeps []pair }{
		"spelling": {
			[]pair{{denied, allowed}, {denied, refused}, {refused, denied}, {denied, changed(denied, otherRule)}, {allowed, changed(allowed, func(a *said) { a.http = 201 })}, {pending, denied}},
			[]pair{{denied, denied}, {refused, changed(refused, func(a *said) { a.code = "CHAIN" })}, {allowed, allowed}},
		},
		"form":  {[]pair{{denied, allowed}, {denied, pending}, {pending, allowed}, {refused, allowed}}, []pair{{allowed, denied}, {pending, refused}, {denied, changed(denied, otherRule)}}},
		"lists": {[]pair{{denied, allowed}, {denied, pending}}, []pair{{denied, denied}, {denied, refused}}},
		"claims": {
			[]pair{{allowed, changed(allowed, func(a *said) { a.claims = "{2}" })}, {pending, changed(pending, func(a *said) { a.hold = "2" })}},
			[]pair{{allowed, denied}, {allowed, allowed}, {pending, pending}},
		},
		oneMoreDenial: {
			[]pair{{denied, allowed}, {denied, pending}, {pending, allowed}, {allowed, pending}, {refused, allowed}, {allowed, refused}, {allowed, changed(allowed, otherRule)}},
			[]pair{{denied, denied}, {allowed, denied}, {pending, denied}, {allowed, allowed}, {refused, refused}, {denied, changed(denied, otherRule)}},
		},
	} {
		keeps := strictly
		if i := slices.IndexFunc(laws, func(l *law) bool { return l.name == name }); i >= 0 {
			keeps = laws[i].keeps
		} else if name != oneMoreDenial {
			t.Errorf("there is no law of %s", name)
		}
		for _, p := range planted.breaks {
			if keeps(p.was, p.is) {
				t.Errorf("the law of %s accepts %v after %v", name, p.is, p.was)
			}
		}
		for _, p := range planted.keeps {
			if !keeps(p.was, p.is) {
				t.Errorf("the law of %s refuses %v after %v", name, p.is, p.was)
			}
		}
	}
}

// TestSince: no law relates requests of two hours.
func TestSince(t *testing.T) {
	at := time.Date(2030, 1, 1, 12, 59, 57, 0, time.UTC)
	for later, related := range map[time.Duration]bool{0: true, time.Second: true, 5 * time.Second: false, 24 * time.Hour: false} {
		s := &session{kit: &Kit{report: newReport(Config{})}, last: at.Add(later)}
		denied, allowed := &asked{want: decided{}, answer: members{"status": "DENIED"}, at: at}, &asked{answer: members{"status": "ALLOWED"}, at: s.last}
		if (s.since(at) == nil) != related || (s.simulates(denied, allowed) != nil) != related {
			t.Errorf("requests %s apart: since %v, simulates %v", later, s.since(at), s.simulates(denied, allowed))
		}
	}
}
