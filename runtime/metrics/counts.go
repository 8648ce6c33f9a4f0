package metrics

import (
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"bailiff/vm/errcode"
)

// statuses are the statuses of decisions.
var statuses = []string{"ALLOWED", "DENIED", "PENDING"}

// decisions counts decisions by status, code and whether they were simulated. The cells are laid out beforehand; those
// that stayed zero are not shown, since most codes never occur.
type decisions struct {
	index map[errcode.Code]int // of a code's cells; that of the empty code, an ALLOWED, is 0
	codes []errcode.Code
	cells []atomic.Uint64
	shown *prometheus.Desc
}

func newDecisions() *decisions {
	d := &decisions{index: map[errcode.Code]int{"": 0}, codes: []errcode.Code{""}}
	for _, row := range errcode.Table {
		if row.Class != errcode.Failure {
			d.index[row.Code] = len(d.codes)
			d.codes = append(d.codes, row.Code)
		}
	}
	d.cells = make([]atomic.Uint64, len(d.codes)*len(statuses)*2)
	d.shown = prometheus.NewDesc(namespace+"_decisions_total", "Decisions that were answered.", []string{"status", "code", "test_run"}, nil)
	return d
}

// cell returns the index of a cell.
func (d *decisions) cell(status, codeIndex int, testRun bool) int {
	cell := (codeIndex*len(statuses) + status) * 2
	if testRun {
		cell++
	}
	return cell
}

// Decision counts a decision that was answered: its status, and its error code or "". What is no status or code of a
// decision is not counted.
func (m *Metrics) Decision(status string, c errcode.Code, testRun bool) {
	if m == nil {
		return
	}
	row := slices.Index(statuses, status)
	if index, known := m.decisions.index[c]; known && row >= 0 {
		m.decisions.cells[m.decisions.cell(row, index, testRun)].Add(1)
	}
}

// Describe implements prometheus.Collector.
func (d *decisions) Describe(to chan<- *prometheus.Desc) { to <- d.shown }

// Collect implements prometheus.Collector.
func (d *decisions) Collect(to chan<- prometheus.Metric) {
	for i, c := range d.codes {
		for j, status := range statuses {
			for _, testRun := range []bool{false, true} {
				if n := d.cells[d.cell(j, i, testRun)].Load(); n > 0 {
					to <- prometheus.MustNewConstMetric(d.shown, prometheus.CounterValue, float64(n), status, string(c), strconv.FormatBool(testRun))
				}
			}
		}
	}
}
