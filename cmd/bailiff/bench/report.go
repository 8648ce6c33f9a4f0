package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"bailiff/bench/load"
	"bailiff/cmd/bailiff/cli"
)

// A report is one run, as it is printed as JSON.
type report struct {
	Form        string         `json:"form"` // reportForm
	URL         string         `json:"url"`
	Rate        float64        `json:"rate"`     // requests a second that were due,
	Achieved    float64        `json:"achieved"` // and answers a second
	Seconds     float64        `json:"seconds"`  // until the last answer
	Connections int            `json:"connections"`
	Requests    int64          `json:"requests"`
	Mix         map[string]int `json:"mix"`
	Kinds       []measured     `json:"kinds"` // by name; the last is all of them

	kinds []*kind
}

// reportForm names the form of a report. It changes with the meaning of a member.
const reportForm = "bailiff-bench-1"

// measured is what came of one kind. Latencies are in microseconds, from the moment when the request was due.
type measured struct {
	Kind    string           `json:"kind"`
	Answers int64            `json:"answers"` // as expected
	Others  map[string]int64 `json:"others"`  // answers of another kind, by status
	P50     int64            `json:"p50"`
	P90     int64            `json:"p90"`
	P99     int64            `json:"p99"`
	P999    int64            `json:"p99.9"`
	Max     int64            `json:"max"`
	// Histogram is an HDR histogram in the compressed encoding, version 2, as base64.
	Histogram string `json:"histogram"`

	latency *hdrhistogram.Histogram
}

func newReport(c *runCommand, kinds []*kind) *report {
	for _, k := range kinds {
		k.shot.Latency.Reset()
	}
	return &report{Form: reportForm, URL: c.URL, Rate: c.Rate, Connections: c.Connections, Mix: c.Mix, kinds: kinds}
}

// others counts the answers of another kind.
func (r *report) others() (n int64) {
	for _, k := range r.kinds {
		for _, one := range k.others {
			n += one
		}
	}
	return n
}

// firstOther is one of these.
func (r *report) firstOther() string {
	for _, k := range r.kinds {
		if k.first != "" {
			return k.first
		}
	}
	return ""
}

// all is the name of all kinds together.
const all = "all"

// finish makes the figures of a run that took so long.
func (r *report) finish(took time.Duration) {
	together, others := load.NewHistogram(), map[string]int64{}
	for _, k := range r.kinds {
		r.Kinds = append(r.Kinds, figures(k.name, k.shot.Latency, k.others))
		together.Merge(k.shot.Latency)
		for status, n := range k.others {
			others[status] += n
		}
	}
	r.Kinds = append(r.Kinds, figures(all, together, others))
	r.Requests = together.TotalCount() + r.others()
	r.Seconds = took.Seconds()
	r.Achieved = float64(r.Requests) / r.Seconds
}

func figures(name string, latency *hdrhistogram.Histogram, others map[string]int64) measured {
	m := measured{Kind: name, Answers: latency.TotalCount(), Others: others, Max: latency.Max(), latency: latency}
	m.P50, m.P90, m.P99, m.P999 = latency.ValueAtQuantile(50), latency.ValueAtQuantile(90), latency.ValueAtQuantile(99), latency.ValueAtQuantile(99.9)
	encoded, err := latency.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		panic(err) // of a histogram that can't be made
	}
	m.Histogram = string(encoded)
	return m
}

// print prints the report.
func (r *report) print(out io.Writer, format string) error {
	switch format {
	case "json":
		return cli.PrintJSON(out, r)
	case "svg":
		_, err := out.Write(r.picture())
		return err
	}
	fmt.Fprintf(out, "%s, %.6g requests/s due, %.6g answered, %d requests over %d connections, %.1f s\n\n", r.URL, r.Rate, r.Achieved, r.Requests, r.Connections, r.Seconds)
	return cli.PrintTable(out, "MS FROM DUE\tANSWERS\tOTHERS\tP50\tP90\tP99\tP99.9\tMAX", r.Kinds, func(m measured) string {
		others := int64(0)
		for _, n := range m.Others {
			others += n
		}
		return fmt.Sprintf("%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s", m.Kind, m.Answers, others,
			milliseconds(m.P50), milliseconds(m.P90), milliseconds(m.P99), milliseconds(m.P999), milliseconds(m.Max))
	})
}

// maxReportBytes bounds a report that is read.
const maxReportBytes = 16 << 20

// readReport reads a report that was printed as JSON. Its figures are made anew from its histograms.
func readReport(std cli.Streams, name string) (*report, error) {
	text, err := cli.ReadBounded(std, name, maxReportBytes)
	if err != nil {
		return nil, err
	}
	r := new(report)
	if err := json.Unmarshal(text, r); err != nil || r.Form != reportForm || len(r.Kinds) == 0 {
		return nil, cli.Usage("%s is not a report of bailiff bench --format json", name)
	}
	for i := range r.Kinds {
		m := &r.Kinds[i]
		latency, err := hdrhistogram.Decode([]byte(m.Histogram))
		if err != nil {
			return nil, cli.Usage("%s: the histogram of %s can't be read: %v", name, m.Kind, err)
		}
		*m = figures(m.Kind, latency, m.Others)
	}
	return r, nil
}

type compareCommand struct {
	A    string  `arg:"" help:"The run to compare with: a file, or - for standard input."`
	B    string  `arg:"" help:"The other run."`
	Most float64 `help:"Exit with 1 where a kind's p99 in B is above that many times its p99 in A." placeholder:"RATIO"`
}

// Run prints the figures of both, and their ratios.
func (c *compareCommand) Run(std cli.Streams) error {
	a, err := readReport(std, c.A)
	if err != nil {
		return err
	}
	b, err := readReport(std, c.B)
	if err != nil {
		return err
	}
	if a.Rate != b.Rate || a.Connections != b.Connections || fmt.Sprint(a.Mix) != fmt.Sprint(b.Mix) {
		return cli.Fail("the runs had another load: %.6g requests/s over %d connections of %v, and %.6g over %d of %v; compare runs of the same rate, connections and mix",
			a.Rate, a.Connections, a.Mix, b.Rate, b.Connections, b.Mix)
	}
	type pair struct {
		kind, figure string
		a, b         int64
	}
	var pairs []pair
	worst, where := 0.0, ""
	for i, m := range a.Kinds {
		other := b.Kinds[i]
		pairs = append(pairs, pair{m.Kind, "p50", m.P50, other.P50}, pair{m.Kind, "p90", m.P90, other.P90}, pair{m.Kind, "p99", m.P99, other.P99},
			pair{m.Kind, "p99.9", m.P999, other.P999}, pair{m.Kind, "max", m.Max, other.Max})
		if ratio := ratioOf(m.P99, other.P99); ratio > worst {
			worst, where = ratio, m.Kind
		}
	}
	err = cli.PrintTable(std.Out, "KIND\tFIGURE\tA MS\tB MS\tB BY A", pairs, func(p pair) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%.2f", p.kind, p.figure, milliseconds(p.a), milliseconds(p.b), ratioOf(p.a, p.b))
	})
	if err == nil && c.Most > 0 && worst > c.Most {
		return cli.Fail("the p99 of %s is %.2f times that of A, above --most %.6g", where, worst, c.Most)
	}
	return err
}

func ratioOf(a, b int64) float64 { return float64(b) / float64(cmp.Or(a, 1)) }
