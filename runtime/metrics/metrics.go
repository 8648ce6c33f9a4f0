// Package metrics counts what the service does, for Prometheus to read. It is the only importer of Prometheus'
// libraries.
//
// It promises to be cheap where decisions are made: every counter is made beforehand, counting is an atomic addition
// without memory of its own, and nothing that clients choose becomes a label. A nil *Metrics counts nothing, so that
// whoever counts need not ask whether anybody reads.
package metrics

import (
	"fmt"
	"net/http"
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

// Metrics is all that is counted. It is safe for concurrent use.
type Metrics struct {
	registry     *prometheus.Registry
	decisions    *decisions
	requests     *requests
	stages       [Stages]prometheus.Observer
	deliveries   [deliveries]prometheus.Observer
	groupRecords prometheus.Histogram
	groupBytes   prometheus.Counter
	groupSync    prometheus.Histogram
}

// New returns metrics that are all zero, beside those of the Go runtime and of the process.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), decisions: newDecisions(), requests: &requests{}}
	stages := seconds("stage_seconds", "How long the stages of a decision took.", "stage")
	for i := range m.stages {
		m.stages[i] = stages.WithLabelValues(stageNames[i])
	}
	attempts := seconds("webhook_delivery_seconds", "How long attempts to deliver webhooks took.", "outcome")
	for i := range m.deliveries {
		m.deliveries[i] = attempts.WithLabelValues(deliveryNames[i])
	}
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
	m.registry.MustRegister(
		m.decisions, m.requests, stages, attempts, m.groupRecords, m.groupBytes, m.groupSync,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
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

// Delivery counts an attempt to deliver a webhook.
func (m *Metrics) Delivery(outcome Delivery, took time.Duration) {
	if m != nil && outcome < deliveries {
		m.deliveries[outcome].Observe(took.Seconds())
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

// Queue adds a queue, whose depth is asked for whenever the metrics are read. The error says that the name was taken.
func (m *Metrics) Queue(name string, depth func() int) error {
	if m == nil {
		return nil
	}
	err := m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "queue_depth", Help: "What waits in a queue.", ConstLabels: prometheus.Labels{"queue": name},
	}, func() float64 { return float64(depth()) }))
	if err != nil {
		return fmt.Errorf("the queue %s can't be counted: %w", name, err)
	}
	return nil
}

// Handler answers with all metrics in Prometheus' text format, or that of OpenMetrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}
