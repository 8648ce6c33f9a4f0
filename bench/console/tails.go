package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/bench/processor"
)

// denied is an intent that the policy denies.
var denied = `{"framework":"custom","agentId":"agent-1","txCommit":"` + strings.Repeat("ab", 32) + `","intent":{"action":"bash","command":"ls","task_id":"t"}}`

// measureTails has clients ask for denials in turns, without live tails and with them, and returns by what part of their rate
// the tails slow them down: the median of the turns.
func (b *bench) measureTails(ctx context.Context, o options, out io.Writer) (cost float64, err error) {
	fmt.Fprintf(out, "\n%12s %12s %8s %14s %18s %12s\n", "denials/s", "with tails", "cost", "events told", "CPU µs a denial", "with tails")
	var costs []float64
	for range o.turns {
		without, err := b.deny(ctx, o)
		if err != nil {
			return 0, err
		}
		with, told, err := b.denyWithTails(ctx, o)
		if err != nil {
			return 0, err
		}
		costs = append(costs, 1-with.rate/without.rate)
		fmt.Fprintf(out, "%12.0f %12.0f %7.1f%% %14d %18.1f %12.1f\n", without.rate, with.rate, 100*costs[len(costs)-1], told, without.micros, with.micros)
	}
	slices.Sort(costs)
	return costs[len(costs)/2], nil
}

// patience is how long a tail may take to be answered first, and to be told of the last denials.
const patience = time.Minute

// denyWithTails is deny while tails follow the keys' events, and returns how many events these were told.
func (b *bench) denyWithTails(ctx context.Context, o options) (d denials, told int64, err error) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	var answered, count atomic.Int64
	faults := make(chan error, o.tails)
	for i := range o.tails {
		all.Go(func() {
			v := b.visitors[i%len(b.visitors)]
			if err := v.tail(following, sync.OnceFunc(func() { answered.Add(1) }), &count); err != nil && following.Err() == nil {
				faults <- fmt.Errorf("a tail has ended: %w", err)
			}
		})
	}
	if err := await(ctx, faults, func() bool { return answered.Load() == int64(o.tails) }); err != nil {
		return d, 0, fmt.Errorf("%d of %d tails follow: %w", answered.Load(), o.tails, err)
	}
	if d, err = b.deny(ctx, o); err == nil {
		err = await(ctx, faults, func() bool { return o.tails == 0 || count.Load() > 0 })
	}
	stop()
	all.Wait()
	return d, count.Load(), err
}

// await waits until a condition holds.
func await(ctx context.Context, faults <-chan error, holds func() bool) error {
	for end := time.Now().Add(patience); !holds(); {
		select {
		case err := <-faults:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(end) {
			return errors.New("that took too long")
		}
	}
	return nil
}

// denials are what a turn gave.
type denials struct {
	rate   float64 // a second
	micros float64 // of the service's processor time for each
}

// deny has the clients ask for denials for a turn.
func (b *bench) deny(ctx context.Context, o options) (d denials, err error) {
	client := &fasthttp.HostClient{Addr: strings.TrimPrefix(b.base, "http://"), MaxConns: o.connections}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	var count atomic.Int64
	faults := make(chan error, o.connections)
	begun, before := time.Now(), processor.Time(b.pid)
	for i := range o.connections {
		secret := b.secrets[i%len(b.secrets)]
		all.Go(func() {
			for ctx.Err() == nil && time.Since(begun) < o.turn {
				if err := denyOne(client, b.base, secret); err != nil {
					faults <- err
					return
				}
				count.Add(1)
			}
		})
	}
	all.Wait()
	taken, busy := time.Since(begun), processor.Time(b.pid)-before
	select {
	case err := <-faults:
		return denials{}, err
	default:
	}
	n := float64(count.Load())
	return denials{n / taken.Seconds(), float64(busy.Microseconds()) / max(n, 1)}, ctx.Err()
}

// denyOne asks once, and expects a denial.
func denyOne(client *fasthttp.HostClient, base, secret string) error {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(base + "/v1/authorize")
	request.Header.SetMethod(fasthttp.MethodPost)
	request.Header.Set("Authorization", "Bearer "+secret)
	request.SetBodyString(denied)
	if err := client.Do(request, response); err != nil {
		return err
	}
	if response.StatusCode() != fasthttp.StatusForbidden {
		return fmt.Errorf("an intent is answered %d, not denied: %.300s", response.StatusCode(), response.Body())
	}
	return nil
}

// tailsOfKey is how many live tails a key may have.
const tailsOfKey = 16

// again is how long a browser waits before it asks for events again, as the console tells it.
const again = time.Second

// tail reads new events as a browser's page of events does until ctx ends, and counts those that it is told. It calls begins when it is about
// to wait for the first time.
func (v *visitor) tail(ctx context.Context, begins func(), told *atomic.Int64) error {
	page, err := v.get(ctx, "/console/events")
	if err != nil {
		return err
	}
	found := liveButton.FindStringSubmatch(page)
	if found == nil {
		return errors.New("the page of events has no live updates")
	}
	source, after := html.UnescapeString(found[1]), found[2]
	for {
		begins()
		text, err := v.get(ctx, source+"&after="+after)
		if err != nil {
			return err
		}
		told.Add(int64(strings.Count(text, "\ndata: ")))
		if ids := eventID.FindAllStringSubmatch(text, -1); len(ids) > 0 {
			after = ids[len(ids)-1][1]
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}

var (
	liveButton = regexp.MustCompile(`data-source="([^"]+)" data-after="([^"]+)"`)
	eventID    = regexp.MustCompile(`(?m)^id: (\d+)$`)
)
