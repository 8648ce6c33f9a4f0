package metrics

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// maxRules is how many rules are counted apart. Operators choose names of rules: what would be one more counts as OtherRules.
	maxRules = 256
	// maxRuleName is how long the name of a rule is that is counted apart, in bytes.
	maxRuleName = 128
	// OtherRules names the rules that are not counted apart.
	OtherRules = "other"
)

// denials counts denials by rule. Finding a rule that was counted before takes no lock.
type denials struct {
	known atomic.Pointer[map[string]*denial]
	grow  sync.Mutex
}

// A denial counts what a rule has denied: enforced, and let pass while observing.
type denial struct{ enforced, observed atomic.Uint64 }

var denialsShown = prometheus.NewDesc(namespace+"_denials_total",
	"Denials by rule, test-runs aside; enforced=\"false\": let pass in OBSERVE mode.", []string{"rule", "enforced"}, nil)

func newDenials() *denials {
	d := &denials{}
	d.known.Store(&map[string]*denial{OtherRules: {}})
	return d
}

// Denial counts what a rule has denied, and whether that was enforced.
func (m *Metrics) Denial(rule string, enforced bool) {
	if m == nil || rule == "" {
		return
	}
	d := m.denials.of(rule)
	if enforced {
		d.enforced.Add(1)
	} else {
		d.observed.Add(1)
	}
}

// of returns what counts a rule.
func (d *denials) of(rule string) *denial {
	known := *d.known.Load()
	if found := known[rule]; found != nil {
		return found
	}
	if len(known) > maxRules || len(rule) > maxRuleName || !utf8.ValidString(rule) {
		return known[OtherRules]
	}
	d.grow.Lock()
	defer d.grow.Unlock()
	known = *d.known.Load()
	if found := known[rule]; found != nil {
		return found
	}
	if len(known) > maxRules {
		return known[OtherRules]
	}
	grown := maps.Clone(known)
	added := &denial{}
	grown[strings.Clone(rule)] = added
	d.known.Store(&grown)
	return added
}

// Describe implements prometheus.Collector.
func (d *denials) Describe(to chan<- *prometheus.Desc) { to <- denialsShown }

// Collect implements prometheus.Collector.
func (d *denials) Collect(to chan<- prometheus.Metric) {
	for rule, counted := range *d.known.Load() {
		for enforced, n := range map[bool]uint64{true: counted.enforced.Load(), false: counted.observed.Load()} {
			if n > 0 {
				to <- prometheus.MustNewConstMetric(denialsShown, prometheus.CounterValue, float64(n), rule, strconv.FormatBool(enforced))
			}
		}
	}
}
