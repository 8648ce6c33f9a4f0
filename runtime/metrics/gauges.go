package metrics

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// gauge adds a gauge, which is asked for whenever the metrics are read.
func (m *Metrics) gauge(name, help string, labels prometheus.Labels, value func() float64) error {
	if m == nil {
		return nil
	}
	return m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels}, value))
}

// counter adds a counter, which is asked for whenever the metrics are read.
func (m *Metrics) counter(name, help string, labels prometheus.Labels, value func() uint64) error {
	if m == nil {
		return nil
	}
	return m.registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help, ConstLabels: labels},
		func() float64 { return float64(value()) }))
}

// ClockDoubt adds whether the clock is in doubt, so that nothing is decided: 1 where it is.
func (m *Metrics) ClockDoubt(inDoubt func() bool) error {
	return m.gauge("clock_in_doubt", "Whether decisions stop because the clock cannot be relied on: 1, else 0.", nil, truth(inDoubt))
}

// A Build says which build of the service runs.
type Build struct{ Version, Commit, Go, Engine string }

// BuildInfo adds a gauge that is always 1, with the build in its labels.
func (m *Metrics) BuildInfo(b Build) error {
	return m.gauge("build_info", "The build that runs, in the labels; always 1.",
		prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go, "engine": b.Engine}, func() float64 { return 1 })
}

// Queue adds a queue, whose depth is asked for whenever the metrics are read. The error says that the name was taken.
func (m *Metrics) Queue(name string, depth func() int) error {
	err := m.gauge("queue_depth", "What waits in a queue.", prometheus.Labels{"queue": name}, func() float64 { return float64(depth()) })
	if err != nil {
		return fmt.Errorf("the queue %s can't be counted: %w", name, err)
	}
	return nil
}

// OTLPWaiting adds how old the oldest event is that waits to be sent by OTLP; 0 where none waits.
func (m *Metrics) OTLPWaiting(age func() time.Duration) error {
	return m.gauge("otlp_oldest_seconds", "The age of the oldest event that waits to be sent by OTLP; 0 where none does.", nil, func() float64 { return age().Seconds() })
}

// Retention adds how many records were dropped from the beginning of the record, and whether that fails: 1 where it does.
func (m *Metrics) Retention(dropped func() uint64, failing func() bool) error {
	return errors.Join(
		m.gauge("retention_dropped_records", "Records that were exported and dropped from the beginning of the record.", nil, func() float64 { return float64(dropped()) }),
		m.gauge("retention_failing", "Whether old events could not be exported and dropped the last time: 1, else 0.", nil, truth(failing)))
}

// StoreCounts are what an instance has met in the database.
type StoreCounts struct {
	Takeovers  uint64
	Unanswered uint64        // appends
	Fenced     uint64        // appends
	Offset     time.Duration // of the database's clock
}

// Store adds whether this instance owns the record in the database, and what it has met there.
func (m *Metrics) Store(decides func() bool, counts func() StoreCounts) error {
	return errors.Join(
		m.gauge("store_deciding", "Whether this instance decides over SVC_STORE: 1; 0 while it waits for another one, or can't.", nil, truth(decides)),
		m.counter("store_takeovers_total", "How often this process took the record in the database.", nil, func() uint64 { return counts().Takeovers }),
		m.counter("store_unanswered_appends_total", "Groups of records that the database did not confirm at once, so that the service looked whether they were kept.", nil, func() uint64 { return counts().Unanswered }),
		m.counter("store_fenced_appends_total", "Those of them whose log another instance had taken, so that they were not confirmed.", nil, func() uint64 { return counts().Fenced }),
		m.gauge("store_clock_offset_seconds", "By how much the database's clock is ahead of this machine's, when it was last heard.", nil, func() float64 { return counts().Offset.Seconds() }))
}

// Policies adds how many other instances of the store have another default policy.
func (m *Metrics) Policies(others func() int) error {
	return m.gauge("store_other_policies", "How many other instances of SVC_STORE have another default policy than this one.", nil, func() float64 { return float64(others()) })
}

// Slots adds how many slots of a store of several this instance owns, how many are at no instance that it knows, and how many instances that have
// some it can't reach.
func (m *Metrics) Slots(owned, lost, unreached func() int) error {
	return errors.Join(
		m.gauge("store_slots", "How many slots of SVC_STORE this instance owns.", nil, func() float64 { return float64(owned()) }),
		m.gauge("store_slots_lost", "How many slots of SVC_STORE are at no instance that this one knows: their keys are not decided for.", nil, func() float64 { return float64(lost()) }),
		m.gauge("store_unreached_instances", "How many instances that have slots of SVC_STORE this one can't reach: requests for their keys are refused here.", nil, func() float64 { return float64(unreached()) }))
}

// Mode adds a gauge that is always 1, with how the service runs in its labels.
func (m *Metrics) Mode(mode, hosting, environment string) error {
	return m.gauge("mode", "How the service runs, in the labels; always 1.",
		prometheus.Labels{"mode": mode, "hosting": hosting, "environment": environment}, func() float64 { return 1 })
}

// Ready adds whether a check of the service's readiness passes: 1, else 0.
func (m *Metrics) Ready(check string, passes func() bool) error {
	return m.gauge("ready", "Whether a check of readiness passes: 1, else 0.", prometheus.Labels{"check": check}, truth(passes))
}

// Frozen adds whether the operator has frozen the service: 1, else 0.
func (m *Metrics) Frozen(frozen func() bool) error {
	return m.gauge("frozen", "Whether the operator has frozen the service: 1, else 0.", nil, truth(frozen))
}

// LedgerRefusing adds whether the ledger refuses everything: 1, else 0.
func (m *Metrics) LedgerRefusing(refusing func() bool) error {
	return m.gauge("ledger_refusing", "Whether the ledger refuses every decision: 1, else 0.", nil, truth(refusing))
}

// CheckpointAge adds how long ago the latest checkpoint was written or found to be of the ledger's end.
func (m *Metrics) CheckpointAge(age func() time.Duration) error {
	return m.gauge("checkpoint_age_seconds", "How long ago the signed checkpoint last was of the end of the record.", nil,
		func() float64 { return age().Seconds() })
}

// DiskFree adds how many bytes are free where the data is.
func (m *Metrics) DiskFree(free func() float64) error {
	return m.gauge("disk_free_bytes", "How much is free on the disk of the data; NaN where that is not known.", nil, free)
}

// CertificateExpires adds when the certificate that a setting names expires, in Unix seconds.
func (m *Metrics) CertificateExpires(setting string, expires func() float64) error {
	return m.gauge("certificate_expires_timestamp_seconds", "When a certificate expires that a setting names, in Unix seconds.", prometheus.Labels{"setting": setting}, expires)
}

// Holds adds how many holds wait for the operator, and the age of the oldest of them.
func (m *Metrics) Holds(pending func() (number int, oldest time.Duration)) error {
	return errors.Join(
		m.gauge("holds_pending", "Holds that wait for the operator; one that expires counts until that is recorded, within a minute.", nil,
			func() float64 { number, _ := pending(); return float64(number) }),
		m.gauge("holds_oldest_seconds", "The age of the oldest hold that waits for the operator; 0 where none does.", nil,
			func() float64 { _, oldest := pending(); return oldest.Seconds() }))
}

// UpstreamFailures adds how often a chain's node or bundler gave no answer.
func (m *Metrics) UpstreamFailures(endpoint, chain string, failures func() uint64) error {
	return m.counter("upstream_failures_total", "Requests to which a chain's node or bundler gave no answer.",
		prometheus.Labels{"endpoint": endpoint, "chain": chain}, failures)
}

// truth is 1 for true, and 0 for false.
func truth(value func() bool) func() float64 {
	return func() float64 {
		if value() {
			return 1
		}
		return 0
	}
}

// A Description is what there is to know of a metric before it is read.
type Description struct {
	Name   string
	Labels []string
	Help   string
}

// description reads the text form of a prometheus.Desc, the only one that tells what is in it.
var description = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: ("(?:[^"\\]|\\.)*"), unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// constLabel finds the names in a list of name="value".
var constLabel = regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)

// Descriptions returns the service's own metrics that were added, in the order of their names, each once.
func (m *Metrics) Descriptions() []Description {
	described := make(chan *prometheus.Desc)
	go func() { m.registry.Describe(described); close(described) }()
	byName := map[string]Description{}
	for d := range described {
		found := description.FindStringSubmatch(d.String())
		if found == nil || !strings.HasPrefix(found[1], namespace+"_") {
			continue
		}
		help, _ := strconv.Unquote(found[2])
		row := Description{Name: found[1], Help: help}
		for _, label := range constLabel.FindAllStringSubmatch(found[3], -1) {
			row.Labels = append(row.Labels, label[1])
		}
		if found[4] != "" {
			row.Labels = append(row.Labels, strings.Split(found[4], ",")...)
		}
		byName[row.Name] = row
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b Description) int { return strings.Compare(a.Name, b.Name) })
}
