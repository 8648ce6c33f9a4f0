package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"bailiff/bench/figures"
)

// resultsFile has the figures of a run. The page and the plots are made of it.
const resultsFile = "results.json"

// results are what came of a run.
type results struct {
	Began       time.Time    `json:"began,omitzero"`
	Commit      string       `json:"commit,omitempty"` // of which the service was built; "" where its binary does not say
	Go          string       `json:"go"`
	Cores       int          `json:"cores"`
	Connections int          `json:"connections"`
	TurnSeconds float64      `json:"turn_seconds"`
	Questions   int          `json:"questions"`
	Allowed     int          `json:"allowed"`
	Seed        uint64       `json:"seed"`
	Load        [2]string    `json:"load"` // of the machine over a minute, before and after
	Peers       []peerResult `json:"peers"`
	Rows        []*row       `json:"rows"`
}

// A peerResult says which peer took part, and where one did not, why.
type peerResult struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Stores  string `json:"stores"`
	LeftOut string `json:"left_out,omitempty"`
}

// A row is one kind of answer of one server.
type row struct {
	Server string `json:"server"`
	Answer string `json:"answer"`
	TLS    bool   `json:"tls"`
	Rounds []turn `json:"rounds"`
}

// A turn is what a row gave in one round.
type turn struct {
	Closed   loop    `json:"closed"`
	Low      *loop   `json:"low"`    // in an open loop, at half of the slowest one's rate
	High     *loop   `json:"high"`   // and at half of the fastest peer's; nil where the server does not keep up
	CPU      float64 `json:"cpu_us"` // of the server, for one answer in the closed loop
	Resident float64 `json:"resident_mib"`
}

// A loop is what one way of asking gave; times are in milliseconds.
type loop struct {
	Rate float64 `json:"rate"`
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
}

func (f *field) results(o *options) *results {
	return &results{
		Began: time.Now().UTC().Truncate(time.Second), Commit: commitOf(o.service),
		Go: runtime.Version(), Cores: runtime.NumCPU(), Connections: o.connections, TurnSeconds: o.measure.Seconds(),
		Questions: o.questions, Seed: o.seed, Peers: f.peers,
	}
}

// commitOf is the commit of which a binary was built; "" where it does not say.
func commitOf(binary string) string {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return ""
	}
	return commitIn(info.Settings)
}

// commitIn is the commit of a build, with a mark where its tree was changed.
func commitIn(settings []debug.BuildSetting) string {
	commit, mark := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			mark = "+changes"
		}
	}
	return commit + mark
}

// origin says when a run began, and of which commit.
func (r *results) origin() string {
	switch {
	case r.Began.IsZero():
		return "The run kept neither its date nor the commit of the service."
	case r.Commit == "":
		return fmt.Sprintf("The run began on %s; the binary of the service does not say its commit.", r.Began.Format("2006-01-02 15:04"))
	}
	return fmt.Sprintf("The run began on %s, with the service of commit %s.", r.Began.Format("2006-01-02 15:04"), r.Commit)
}

func (r *results) encode() []byte {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		panic(err) // texts and finite numbers can always be written
	}
	return append(text, '\n')
}

// median is the middle of what of takes from each round.
func (r *row) median(of func(*turn) float64) float64 {
	var values []float64
	for i := range r.Rounds {
		values = append(values, of(&r.Rounds[i]))
	}
	return figures.Median(values)
}

// open is the median of what of takes from the open loops of the rounds that have one.
func (r *row) open(which func(*turn) *loop, of func(loop) float64) float64 {
	var values []float64
	for i := range r.Rounds {
		if l := which(&r.Rounds[i]); l != nil {
			values = append(values, of(*l))
		}
	}
	return figures.Median(values)
}

func low(t *turn) *loop  { return t.Low }
func high(t *turn) *loop { return t.High }

func (l loop) rate() float64 { return l.Rate }
func (l loop) p50() float64  { return l.P50 }
func (l loop) p99() float64  { return l.P99 }

// peer reports whether the row is one of a peer.
func (r *row) peer() bool { return r.Server != bailiff && r.Server != floor }

// find returns the rows of a kind of answer, of a server or, where it is "", of all peers.
func (r *results) find(server, answer string, tls bool) (found []*row) {
	for _, one := range r.Rows {
		if one.Answer == answer && one.TLS == tls && (one.Server == server || server == "" && one.peer()) {
			found = append(found, one)
		}
	}
	return found
}

// A claim compares the product with the fastest peer.
type claim struct {
	says         string
	ours, theirs string // kinds of answers
	least        float64
}

var claims = []claim{
	{"a test-run, beside an answer of the fastest peer", testRun, allowed, 7},
	{"a durable denial, beside one of the fastest peer", denied, denied, 4.5},
	{"a durable `ALLOWED` with both signatures, beside an answer of the fastest peer", allowed, allowed, 1},
}

// A comparison is the medians over the rounds of ours by theirs.
type comparison struct {
	rate      float64 // by that of the peer that was the fastest in the round,
	cpu       float64 // as many times as much processor time that one took for an answer;
	low, high float64 // p99 at low load by the lowest of a peer, and at high load by that of the fastest
}

func (r *results) compare(c claim, tls bool) comparison {
	ours, theirs := r.find(bailiff, c.ours, tls), r.find("", c.theirs, tls)
	if len(ours) == 0 || len(theirs) == 0 {
		return comparison{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	}
	var rates, times, lows, highs []float64
	for i, own := range ours[0].Rounds {
		fastest := theirs[0].Rounds[i]
		lowest := fastest.Low.P99
		for _, peer := range theirs {
			lowest = min(lowest, peer.Rounds[i].Low.P99)
			if t := peer.Rounds[i]; t.Closed.Rate > fastest.Closed.Rate {
				fastest = t
			}
		}
		rates, lows = append(rates, own.Closed.Rate/fastest.Closed.Rate), append(lows, own.Low.P99/lowest)
		times = append(times, fastest.CPU/own.CPU)
		if own.High != nil && fastest.High != nil {
			highs = append(highs, own.High.P99/fastest.High.P99)
		}
	}
	return comparison{figures.Median(rates), figures.Median(times), figures.Median(lows), figures.Median(highs)}
}

// page is the part of the page of results.
func (r *results) page() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d rounds with turns of %.1f s, %d connections, %d cores, %s. %s\n",
		len(r.Rows[0].Rounds), r.TurnSeconds, r.Connections, r.Cores, r.Go, r.origin())
	fmt.Fprintf(&b, "The machine's load over a minute was %s before the first turn, the run's own start included, and %s at the end, its own clients and\n", r.Load[0], r.Load[1])
	b.WriteString("servers included. What else ran is not known.\n\n")
	fmt.Fprintf(&b, "Before that, all servers answered the same %d generated questions alike (seed %d), of which %d are allowed. The run is the test of this: it\n", r.Questions, r.Seed, r.Allowed)
	b.WriteString("ends at the first answer that differs, and measures nothing. `go test ./bench/servers -run TestAgree` shows that it finds planted differences.\n\n")
	for _, p := range r.Peers {
		if p.LeftOut != "" {
			fmt.Fprintf(&b, "- %s %s is left out: %s\n", p.Name, p.Version, p.LeftOut)
			continue
		}
		fmt.Fprintf(&b, "- %s %s %s.\n", p.Name, p.Version, p.Stores)
	}
	b.WriteString("- Bailiff writes every answer to its log; it waits for the disk before a denial and an `ALLOWED`, and signs an `ALLOWED` with Ed25519 and ML-DSA-65.\n")
	b.WriteString("\n| Bailiff | | times the rate (target) | processor time of the peer by ours | p99 at low load by the peers' lowest (target: below 1) | p99 at high load (target: below 1) |\n|---|---|---|---|---|---|\n")
	for _, c := range claims {
		for _, tls := range []bool{false, true} {
			x := r.compare(c, tls)
			fmt.Fprintf(&b, "| %s | %s | **%s** (%g: %s) | %s | %s | %s |\n", c.says, protocol(tls), digits(x.rate), c.least, verdict(x.rate >= c.least),
				digits(x.cpu), below(x.low), below(x.high))
		}
	}
	for _, tls := range []bool{false, true} {
		r.table(&b, tls)
	}
	return b.String()
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "missed"
}

// below is a p99 by that of a peer, and whether it is lower. A rate that is too high for a server misses it.
func below(ratio float64) string {
	if math.IsNaN(ratio) {
		return "does not keep up (missed)"
	}
	return fmt.Sprintf("%s (%s)", digits(ratio), verdict(ratio < 1))
}

// protocol is what requests of a mode go over.
func protocol(tls bool) string {
	if tls {
		return "TLS 1.3"
	}
	return "plain HTTP"
}

// table writes the rows of a mode.
func (r *results) table(b *bytes.Buffer, tls bool) {
	first := r.of(tls)[0]
	fastest := r.find("", allowed, tls)[0].open(high, loop.rate)
	fmt.Fprintf(b, "\nLow load is %s requests a second, high load %s.\n", digits(first.open(low, loop.rate)), digits(fastest))
	fmt.Fprintf(b, "\n| %s | requests/s | p50 ms | p99 ms | CPU µs a decision | MiB resident | low load, p50 ms | p99 ms | high load, p50 ms | p99 ms |\n", protocol(tls))
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, one := range r.of(tls) {
		fmt.Fprintf(b, "| %s | %s |\n", one.name(), strings.Join([]string{
			digits(one.median(func(t *turn) float64 { return t.Closed.Rate })), digits(one.median(func(t *turn) float64 { return t.Closed.P50 })),
			digits(one.median(func(t *turn) float64 { return t.Closed.P99 })), digits(one.median(func(t *turn) float64 { return t.CPU })),
			digits(one.median(func(t *turn) float64 { return t.Resident })),
			digits(one.open(low, loop.p50)), digits(one.open(low, loop.p99)), digits(one.open(high, loop.p50)), digits(one.open(high, loop.p99)),
		}, " | "))
	}
}

// floor is the name under which the floors are in the rows.
const floor = "floor"

// label is the row's name without marks, with room for fonts that are wider.
func (r *row) label() string { return strings.ReplaceAll(r.name(), "`", "") + "    " }

// name says what a row is.
func (r *row) name() string {
	switch r.Server + r.Answer {
	case bailiff + testRun:
		return "Bailiff, test-run"
	case bailiff + denied:
		return "Bailiff, denied, durable"
	case bailiff + allowed:
		return "Bailiff, `ALLOWED`, durable and signed twice"
	case floor + testRun:
		return "floor of a test-run: decode"
	case floor + denied:
		return "floor of a denial: decode, keep by Pebble"
	case floor + allowed:
		return "floor of an `ALLOWED`: decode, sign twice"
	}
	return r.Server + ", " + r.Answer
}

// digits writes three digits of a figure, which is more than a shared machine can tell.
func digits(value float64) string {
	if math.IsNaN(value) {
		return "–"
	}
	if value >= 1000 {
		step := math.Pow(10, math.Floor(math.Log10(value))-2)
		return fmt.Sprintf("%.0f", math.Round(value/step)*step)
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(max(value, 0.01))))), value)
}
