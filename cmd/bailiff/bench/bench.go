// Package bench has the commands that load a running service and compare the results of such runs.
package bench

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"time"

	"bailiff/bench/load"
	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/client"
	"bailiff/cmd/bailiff/settings"
	"bailiff/runtime/clock"
)

// Bounds of a run.
const (
	maxRate        = 1_000_000 // requests a second
	maxConnections = 1000
	maxRequests    = 50_000_000
	maxIntentBytes = 100_000 // what the service reads
)

// Commands are the commands of this package. Their doc texts are the help.
type Commands struct {
	Bench benchCommand `cmd:"" help:"Load a service at a constant rate, or compare two such runs."`
}

type benchCommand struct {
	Run     runCommand     `cmd:"" default:"withargs" help:"Load a service, and print how long its answers take."`
	Compare compareCommand `cmd:"" help:"Compare two runs that were printed as JSON."`
}

type runCommand struct {
	client.ApiFlags
	cli.ProgressFlag
	Rate        float64           `default:"100" help:"Requests a second (${default}), made when they are due, whatever the answers."`
	Duration    time.Duration     `default:"10s" help:"For how long (${default})."`
	Connections int               `default:"16" help:"Kept connections (${default}). A request that none is free for waits, and its time runs."`
	Patience    time.Duration     `default:"30s" help:"How long answers may take after the last request (${default})."`
	Mix         map[string]int    `default:"test-run=1" mapsep:"," help:"Shares of allowed, denied, pending, test-run and hook (${default})." placeholder:"KIND=SHARE,…"`
	Request     map[string]string `mapsep:"none" help:"File of the request of a kind, a body of POST /v1/authorize or an event of the hook; may be repeated. Only pending needs one." placeholder:"KIND=FILE"`
	MyService   bool              `name:"my-service" help:"You operate the service at --url. Without it only loopback addresses are loaded."`
	Format      string            `default:"text" enum:"text,json,svg" help:"${enum} (${default})." placeholder:"FORMAT"`
}

// Help says what the figures are.
func (c *runCommand) Help() string {
	return `Requests are made at a constant rate, whether or not the service keeps up, and their time runs from the moment when they were due:
a service that stalls shows it in every request of that time. Kinds are mixed evenly by their shares. Each kind is asked once before, and
the command ends if the answer is not of its kind. allowed, denied, pending and hook are decisions with all effects: they count in
limits, open holds and write to the log. It needs http:// and Linux. Exits with 1 where an answer was of another kind.`
}

// Run loads the service and prints what came of it.
func (c *runCommand) Run(std cli.Streams) error {
	address, err := c.target()
	if err != nil {
		return err
	}
	kinds, err := c.kinds(std, address)
	if err != nil {
		return err
	}
	clients, err := c.connect(address, kinds)
	defer func() {
		for _, one := range clients {
			_ = one.Close() // nothing is under way
		}
	}()
	if err != nil {
		return err
	}
	r := newReport(c, kinds)
	pace, progress := load.NewPace(c.Rate, c.Duration), c.ProgressFlag.Start(std, "bench")
	pace.Shot = func(n int) *load.Shot { return kinds[pick(kinds, n)].shot }
	pace.Answered = func(answered int) {
		if answered%64 == 0 {
			progress.Reached("%d of %d answered, %d of another kind", answered, pace.Requests, r.others())
		}
	}
	began := clock.System()()
	if err := pace.Drive(clients, c.Duration+c.Patience); err != nil {
		return cli.Fail("the run ended: %v", err)
	}
	r.finish(clock.System()().Sub(began))
	if err := r.print(std.Out, c.Format); err != nil {
		return err
	}
	if n := r.others(); n > 0 {
		return cli.Fail("%d of %d answers were of another kind than expected: %s", n, r.Requests, r.firstOther())
	}
	return nil
}

// target checks the flags, and returns the address to connect to.
func (c *runCommand) target() (string, error) {
	switch {
	case !(c.Rate > 0 && c.Rate <= maxRate): // NaN too
		return "", cli.Usage("--rate is %v; write a number above 0, at most %d", c.Rate, maxRate)
	case c.Duration <= 0 || c.Rate*c.Duration.Seconds() > maxRequests:
		return "", cli.Usage("--duration is %s; write one above 0, with at most %d requests", c.Duration, maxRequests)
	case c.Connections < 1 || c.Connections > maxConnections:
		return "", cli.Usage("--connections is %d; write a number from 1 to %d", c.Connections, maxConnections)
	case c.Patience <= 0:
		return "", cli.Usage("--patience is %s; write a duration above 0", c.Patience)
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return "", cli.Usage("--url is %q; write http:// and a host, such as http://127.0.0.1:8787", c.URL)
	}
	if !settings.Loopback(u.Hostname()) && !c.MyService {
		return "", notLoopback(u.Hostname())
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

func notLoopback(host string) error {
	return cli.Usage("%s is not a loopback address; load another machine only if you operate the service there, and say so with --my-service", host)
}

// connect opens the connections, and asks once for each kind.
func (c *runCommand) connect(address string, kinds []*kind) (clients []*load.Client, err error) {
	for i := range max(c.Connections, len(kinds)) {
		k := kinds[i%len(kinds)]
		one, err := load.Dial(address, nil, k.shot)
		if err != nil {
			return clients, cli.Fail("%v", err)
		}
		clients = append(clients, one)
		if peer, ok := one.Peer().(*net.TCPAddr); !c.MyService && (!ok || !peer.IP.IsLoopback()) { // what localhost means is a file's to say
			return clients, notLoopback(one.Peer().String())
		}
		if i >= len(kinds) {
			continue
		}
		if err := k.try(one); err != nil {
			return clients, err
		}
	}
	return clients[:c.Connections:c.Connections], nil
}

// pick returns which kind the n-th request is of: shares are spread evenly, by the kind that is furthest behind its share.
func pick(kinds []*kind, n int) int {
	if n == 0 {
		for _, k := range kinds {
			k.due = 0
		}
	}
	best, total := 0, 0
	for i, k := range kinds {
		k.due += k.share
		total += k.share
		if k.due > kinds[best].due {
			best = i
		}
	}
	kinds[best].due -= total
	return best
}

// milliseconds is a latency in microseconds as people read it.
func milliseconds(microseconds int64) string {
	ms := float64(microseconds) / 1e3
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Log10(max(ms, 1)))), ms)
}
