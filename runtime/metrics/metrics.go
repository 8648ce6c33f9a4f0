// Package metrics counts what the service does, for Prometheus to read. It is the only importer of Prometheus'
// client library.
//
// It promises to be cheap where decisions are made: every counter is made beforehand, counting is an atomic addition
// without allocation, and nothing that clients choose becomes a label. A nil *Metrics counts nothing, so that
// callers count without asking whether metrics are read.
package metrics

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// namespace begins the name of every metric that is the service's own.
const namespace = "bailiff"

// Stage is a part of the way from a request's body to its answer.
type Stage uint8

// The stages, in the order of the way.
const (
	StageDecode   Stage = iota // bytes to fields
	StageEvaluate              // the policy's program, and the plan
	StageStore                 // the ledger, until the record is durable
	StageSign                  // the attestation
	// Stages is the number of stages.
	Stages
)

var stageNames = [Stages]string{"decode", "evaluate", "store", "sign"}

// String returns the stage's name, as metrics and the field Server-Timing have it.
func (s Stage) String() string {
	if s < Stages {
		return stageNames[s]
	}
	return fmt.Sprintf("Stage(%d)", uint8(s))
}

// Delivery is what came of an attempt to deliver a webhook.
type Delivery uint8

// The outcomes of deliveries.
const (
	Delivered Delivery = iota
	Failed             // to be tried again
	GivenUp            // after the last attempt
	Disabled           // the webhook failed too often
	deliveries
)

var deliveryNames = [deliveries]string{"delivered", "failed", "given_up", "disabled"}

// String returns the outcome as the metrics name it.
func (d Delivery) String() string { return deliveryNames[d] }

// Reload is what came of reading the default policy again.
type Reload uint8

// The outcomes of a reload.
const (
	ReloadReplaced  Reload = iota
	ReloadUnchanged        // the policy was in force already
	ReloadRefused          // the policy in force stays
	reloads
)

var reloadNames = [reloads]string{"replaced", "unchanged", "refused"}

// Passed is what came of passing a request on to another instance.
type Passed uint8

// The outcomes of passing a request on. One that may not have arrived is passed on again, and counts each time.
const (
	PassAnswered    Passed = iota
	PassReturned           // the other instance did not decide yet, or not any more
	PassUnreachable        // nothing was sent
	PassLost               // it was sent, and not answered: the outcome is unknown
	PassRefused            // as its source has its share of the connections, or as it can't be written unchanged
	passes
)

var passNames = [passes]string{"answered", "returned", "unreachable", "lost", "refused"}

// Metrics is all that is counted. It is safe for concurrent use.
type Metrics struct {
	registry     *prometheus.Registry
	decisions    *decisions
	requests     *requests
	denials      *denials
	stages       [Stages]prometheus.Observer
	deliveries   [deliveries]prometheus.Observer
	webhookLag   prometheus.Histogram
	otlp         [otlps]prometheus.Counter
	malformed    [2]prometheus.Counter // without an event, with one
	replays      prometheus.Counter
	reloads      [reloads]prometheus.Counter
	passes       [passes]prometheus.Counter
	groupRecords prometheus.Histogram
	groupBytes   prometheus.Counter
	groupSync    prometheus.Histogram
	beyond       [budgets]prometheus.Counter
}

// New returns metrics that are all zero, beside those of the Go runtime and of the process.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), decisions: newDecisions(), requests: &requests{}, denials: newDenials()}
	stages := seconds("stage_seconds", "How long the stages of a decision took.", "stage")
	for i := range m.stages {
		m.stages[i] = stages.WithLabelValues(stageNames[i])
	}
	attempts := seconds("webhook_delivery_seconds", "How long attempts to deliver webhooks took.", "outcome")
	for i := range m.deliveries {
		m.deliveries[i] = attempts.WithLabelValues(deliveryNames[i])
	}
	m.webhookLag = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "webhook_lag_seconds", Help: "How long after its event a delivery has succeeded.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 14),
	})
	otlp := counters("otlp_events_total", "Events that were sent by OTLP, events that the collector refused, and requests that failed.", "result", otlpNames[:], m.otlp[:])
	beyond := counters("budget_exceeded_total", "What a budget had no room for.", "budget", budgetNames[:], m.beyond[:])
	reloaded := counters("policy_reloads_total", "Reloads of the default policy.", "result", reloadNames[:], m.reloads[:])
	passed := counters("passed_requests_total", "Requests that were passed on to other instances of SVC_STORE, by what came of it.", "result", passNames[:], m.passes[:])
	m.replays = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "replays_total", Help: "Decisions that were answered again, by their request_nonce.",
	})
	m.groupRecords = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "ledger_group_records", Help: "Records that were made durable together.",
		Buckets: prometheus.ExponentialBuckets(1, 2, 12),
	})
	m.groupBytes = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: namespace, Name: "ledger_bytes_total", Help: "Bytes of the groups that were made durable.",
	})
	m.groupSync = prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: "ledger_sync_seconds", Help: "How long it took to make a group durable.", Buckets: durations(),
	})
	malformed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "malformed_requests_total", Help: "Requests that were not decided because of their body.",
	}, []string{"event"})
	for recorded := range m.malformed {
		m.malformed[recorded] = malformed.WithLabelValues(strconv.FormatBool(recorded == 1))
	}
	m.registry.MustRegister(malformed, reloaded, passed,
		m.decisions, m.requests, m.denials, m.webhookLag, otlp, stages, attempts, beyond, m.replays, m.groupRecords, m.groupBytes, m.groupSync,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// counters returns counters by one label, and fills in those of its values.
func counters(name, help, label string, values []string, each []prometheus.Counter) *prometheus.CounterVec {
	all := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label})
	for i, value := range values {
		each[i] = all.WithLabelValues(value)
	}
	return all
}

// seconds returns a histogram of durations by one label.
func seconds(name, help, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: durations(),
	}, []string{label})
}

// durations are bounds from a microsecond to eight seconds: evaluation takes microseconds, a slow disk or receiver
// seconds.
func durations() []float64 { return prometheus.ExponentialBuckets(1e-6, 2, 24) }

// Stage counts how long a stage of a decision took.
func (m *Metrics) Stage(stage Stage, took time.Duration) {
	if m != nil && stage < Stages {
		m.stages[stage].Observe(took.Seconds())
	}
}

// Malformed counts a request that was not decided because of its body, and whether it leaves an event.
func (m *Metrics) Malformed(recorded bool) {
	switch {
	case m == nil:
	case recorded:
		m.malformed[1].Inc()
	default:
		m.malformed[0].Inc()
	}
}

// Replay counts a decision that was answered again.
func (m *Metrics) Replay() {
	if m != nil {
		m.replays.Inc()
	}
}

// Reload counts a reload of the default policy.
func (m *Metrics) Reload(result Reload) {
	if m != nil && result < reloads {
		m.reloads[result].Inc()
	}
}

// Passed counts a request that was to be passed on.
func (m *Metrics) Passed(result Passed) {
	if m != nil && result < passes {
		m.passes[result].Inc()
	}
}

// Delivery counts an attempt to deliver a webhook.
func (m *Metrics) Delivery(outcome Delivery, took time.Duration) {
	if m != nil && outcome < deliveries {
		m.deliveries[outcome].Observe(took.Seconds())
	}
}

// WebhookLag counts how long after its event a delivery has succeeded.
func (m *Metrics) WebhookLag(lag time.Duration) {
	if m != nil {
		m.webhookLag.Observe(max(lag, 0).Seconds())
	}
}

// OTLPResult is what came of sending events to an OpenTelemetry collector.
type OTLPResult uint8

// The results.
const (
	OTLPExported OTLPResult = iota // events that the collector has taken
	OTLPRejected                   // events that it refused for good
	OTLPFailed                     // requests that are made again
	otlps
)

var otlpNames = [otlps]string{"exported", "rejected", "failed_requests"}

// OTLP counts what came of sending events.
func (m *Metrics) OTLP(result OTLPResult, number int) {
	if m != nil {
		m.otlp[result].Add(float64(number))
	}
}

// Group counts a group of records that the ledger has made durable.
func (m *Metrics) Group(records, bytes int, took time.Duration) {
	if m == nil {
		return
	}
	m.groupRecords.Observe(float64(records))
	m.groupBytes.Add(float64(bytes))
	m.groupSync.Observe(took.Seconds())
}

// Budget is a budget whose use is bounded.
type Budget uint8

// The budgets, by what uses them.
const (
	Deployments      Budget = iota // policies compiled in an hour, by key
	Compiling                      // compiling at once
	Evaluating                     // judging what takes long, by key and at once
	Loading                        // loading stored policies at once
	Programs                       // memory of the programs that wait for a request
	Lingering                      // memory of the programs that were replaced, and that requests still use
	Paging                         // reading pages of events, by key and at once
	Storage                        // bytes that the deployments of a key keep
	Waiting                        // requests that wait for holds, by key and at once
	RequestBodies                  // memory of the requests' bodies
	UpstreamAnswers                // memory of the answers of chains' nodes
	ConsoleSessions                // memory of the sessions of the console
	OperatorSessions               // memory of the sessions of the operator's console
	budgets
)

var budgetNames = [budgets]string{"deployments", "compiling", "evaluating", "loading", "programs", "replaced_programs", "paging", "storage", "waiting", "request_bodies", "upstream_answers", "console_sessions", "operator_console_sessions"}

// String returns the budget's name, as metrics and the log have it.
func (b Budget) String() string {
	if b < budgets {
		return budgetNames[b]
	}
	return fmt.Sprintf("Budget(%d)", uint8(b))
}

// Beyond counts what a budget had no room for: a request that was told to come again, or a program that was dropped.
func (m *Metrics) Beyond(b Budget) {
	if m != nil && b < budgets {
		m.beyond[b].Inc()
	}
}

// Use adds how much of a budget is used and how much there is, in the budget's own unit, which is asked for whenever the metrics
// are read. The error says that the budget was added before.
func (m *Metrics) Use(b Budget, limit float64, used func() float64) error {
	labels := prometheus.Labels{"budget": b.String()}
	err := errors.Join(
		m.gauge("budget_limit", "How much of a budget there is: bytes, or how many at once.", labels, func() float64 { return limit }),
		m.gauge("budget_used", "How much of a budget is used.", labels, used))
	if err != nil {
		return fmt.Errorf("the budget %s can't be counted: %w", b, err)
	}
	return nil
}

// Handler answers with all metrics in Prometheus' text format, or that of OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}
