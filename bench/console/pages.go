package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"bailiff/bench/processor"
)

// A visitor is a browser that is signed in.
type visitor struct {
	base   string
	cookie *http.Cookie
	client *http.Client
}

// signIn signs in with an API key. The address is of the loopback interface.
func signIn(base, secret string) (*visitor, error) {
	v := &visitor{base: base, client: &http.Client{
		Timeout:       time.Minute,
		Transport:     &http.Transport{MaxIdleConnsPerHost: tailsOfKey},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	request, err := http.NewRequest(http.MethodPost, base+"/console/sign-in", strings.NewReader(url.Values{"key": {secret}}.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", base)
	response, err := v.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if cookies := response.Cookies(); err == nil && response.StatusCode == http.StatusSeeOther && len(cookies) == 1 {
		v.cookie = cookies[0]
		return v, nil
	}
	return nil, fmt.Errorf("signing in is answered %s: %w\n%s", response.Status, err, text)
}

// get reads a page to its end.
func (v *visitor) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, http.NoBody)
	if err != nil {
		return "", err
	}
	request.AddCookie(v.cookie)
	response, err := v.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s is answered %s: %w\n%.500s", path, response.Status, err, text)
	}
	return string(text), nil
}

// pages are those that are measured, each with how many events it has to show at least.
func pages(events int) []struct {
	name, path string
	rows       int
} {
	return []struct {
		name, path string
		rows       int
	}{
		{"the icon", "/console/icon.svg", 0}, // the least that the console answers
		{"the latest events", "/console/events", min(100, events)},
		{"older events", fmt.Sprintf("/console/events?before=%d", max(2, events/2)), min(100, events/2-1)},
		{"denials", "/console/events?decision=DENIED", min(100, events/10)},
		{"a rule of few", "/console/events?" + url.Values{"rule": {rareRule}}.Encode(), 0},
		{"the overview", "/console", 5},
	}
}

// measurePages asks for each page of the first key so many times, one after the other, and returns the largest p99 of the pages of events.
func (b *bench) measurePages(ctx context.Context, o options, out io.Writer) (worst time.Duration, err error) {
	fmt.Fprintf(out, "\n%-20s %9s %9s %9s %9s %8s\n", "page", "p50 ms", "p99 ms", "most ms", "CPU ms", "bytes")
	for _, page := range pages(o.events) {
		taken, size, before := make([]time.Duration, o.requests), 0, processor.Time(b.pid)
		for i := range taken {
			begun := time.Now()
			text, err := b.visitors[0].get(ctx, page.path)
			taken[i] = time.Since(begun)
			if err != nil {
				return 0, err
			}
			if rows := strings.Count(text, `<td><a href="/console/events/`); rows < page.rows {
				return 0, fmt.Errorf("%s shows %d events; at least %d were expected", page.path, rows, page.rows)
			}
			size = len(text)
		}
		busy := (processor.Time(b.pid) - before) / time.Duration(o.requests)
		slices.Sort(taken)
		p50, p99 := quantile(taken, 50), quantile(taken, 99)
		fmt.Fprintf(out, "%-20s %9.1f %9.1f %9.1f %9.1f %8d\n", page.name, milli(p50), milli(p99), milli(taken[len(taken)-1]), milli(busy), size)
		if strings.HasPrefix(page.path, "/console/events") {
			worst = max(worst, p99)
		}
	}
	return worst, nil
}

// quantile returns the value of sorted ones that so many of 100 do not exceed.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}
