package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
func (v *visitor) measureTails(ctx context.Context, o options, secret string, out io.Writer) (cost float64, err error) {
	fmt.Fprintf(out, "\n%12s %12s %8s %14s %18s %12s\n", "denials/s", "with tails", "cost", "events told", "CPU µs a denial", "with tails")
	var costs []float64
	for range o.turns {
		without, err := v.deny(ctx, o, secret)
		if err != nil {
			return 0, err
		}
		with, told, err := v.denyWithTails(ctx, o, secret)
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

// denyWithTails is deny while tails follow the key's events, and returns how many events these were told.
func (v *visitor) denyWithTails(ctx context.Context, o options, secret string) (d denials, told int64, err error) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	var answered, count atomic.Int64
	faults := make(chan error, o.tails)
	for range o.tails {
		all.Go(func() {
			if err := v.tail(following, secret, sync.OnceFunc(func() { answered.Add(1) }), &count); err != nil && following.Err() == nil {
				faults <- fmt.Errorf("a tail has ended: %w", err)
			}
		})
	}
	if err := await(ctx, faults, func() bool { return answered.Load() == int64(o.tails) }); err != nil {
		return d, 0, fmt.Errorf("%d of %d tails follow: %w", answered.Load(), o.tails, err)
	}
	if d, err = v.deny(ctx, o, secret); err == nil {
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
func (v *visitor) deny(ctx context.Context, o options, secret string) (d denials, err error) {
	client := &fasthttp.HostClient{Addr: strings.TrimPrefix(v.base, "http://"), MaxConns: o.connections}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	var count atomic.Int64
	faults := make(chan error, o.connections)
	begun, before := time.Now(), processor.Time(v.pid)
	for range o.connections {
		all.Go(func() {
			for ctx.Err() == nil && time.Since(begun) < o.turn {
				if err := denyOne(client, v.base, secret); err != nil {
					faults <- err
					return
				}
				count.Add(1)
			}
		})
	}
	all.Wait()
	taken, busy := time.Since(begun), processor.Time(v.pid)-before
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

// followEvery is how often a tail asks, as bailiff events --follow does.
const followEvery = time.Second

// tail follows the key's events until ctx ends, and counts those that it is told. It calls begins when it is answered first.
func (v *visitor) tail(ctx context.Context, secret string, begins func(), told *atomic.Int64) error {
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	from := "?from=" + time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/v1/events"+from, http.NoBody)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+secret)
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		var page struct {
			Events []json.RawMessage
			Next   string
		}
		err = json.NewDecoder(response.Body).Decode(&page)
		response.Body.Close()
		switch {
		case err != nil:
			return err
		case response.StatusCode == http.StatusOK && page.Next != "":
			begins()
			told.Add(int64(len(page.Events)))
			from = "?after=" + page.Next
		case response.StatusCode != http.StatusTooManyRequests:
			return fmt.Errorf("events are answered %s", response.Status)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}
