package httpd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"bailiff/runtime/accounts"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ratelimit"
)

// brokenStore is a store of limits that can't tell.
type brokenStore struct{}

func (brokenStore) Take(string, ratelimit.Window, time.Time) (ratelimit.Result, error) {
	return ratelimit.Result{}, errors.New("planted")
}

// brokenLedger is a ledger that has failed for all who ask.
type brokenLedger struct{ ledger.Ledger }

func (brokenLedger) Health() error { return ledger.ErrUnavailable }

// setUp starts the server that a directive asks for.
func (w *world) setUp(t *testing.T, d *datadriven.TestData) {
	policy := ""
	if d.Cmd == "policy" {
		policy = d.Input + "\n"
	}
	before := w.ledger
	if d.HasArg("broken-ledger") {
		w.ledger = brokenLedger{w.ledger}
	}
	config := w.config(w.authority(policy, d.HasArg("observe")))
	w.ledger = before
	for name, window := range map[string]*ratelimit.Window{
		"key": &config.Limits.Key, "ip": &config.Limits.IP, "holds": &config.Limits.Holds, "register": &config.Limits.Register, "manage": &config.Limits.Manage,
	} {
		if d.HasArg(name) {
			d.ScanArgs(t, name, &window.Limit)
			window.Per = time.Minute
		}
	}
	if d.HasArg("gateway") {
		config.Gateway = w.gateway()
	}
	if d.HasArg("broken-store") {
		config.Stores = Stores{brokenStore{}, brokenStore{}, brokenStore{}}
	}
	w.serve(config)
}

// TestGolden runs the sessions in testdata: requests, what they are answered, and what is stored. Every request and
// answer is held against the OpenAPI document, of which every operation must have been answered in the end.
//
//	policy [observe] [LIMIT=N…]   a self-hosted service under a policy, from here on
//	hosted [LIMIT=N…]             a hosted service; LIMIT is key, ip, holds, register or manage, per minute; either may
//	                              have gateway, broken-store or broken-ledger
//	key name=N [scopes=…] [plan=…] makes an API key; $N means it
//	revoke name=N                 revokes it
//	sign name=N [stranger]        signs a policy, or has a stranger sign it; $N means it inside a JSON string
//	resolve name=N hold=H decision=D   signs a resolution of the hold $H; $N means it
//	request [MEMBER=N…]           sends a request; $N means a member of the answer
//	advance d=1m                  moves the clock
//	stored                        lists the ledger's events
func TestGolden(t *testing.T) { golden(t, false) }

// golden runs the sessions, with requests that another instance passes on where passed is true.
func golden(t *testing.T, passed bool) {
	documented := newChecker(t)
	datadriven.Walk(t, "testdata/sessions", func(t *testing.T, path string) {
		w := newWorld(t)
		w.passed = passed
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.t = t
			switch d.Cmd {
			case "policy", "hosted":
				w.setUp(t, d)
				return ""
			case "key":
				return w.keyOf(t, d)
			case "revoke":
				var name string
				d.ScanArgs(t, "name", &name)
				if _, err := w.admin.RevokeKey(context.Background(), w.said[name+".id"]); err != nil {
					return err.Error()
				}
				return ""
			case "sign":
				var name string
				d.ScanArgs(t, "name", &name)
				w.sign(name, d.Input+"\n", d.HasArg("stranger"))
				return ""
			case "resolve":
				var name, hold, decision string
				d.ScanArgs(t, "name", &name)
				d.ScanArgs(t, "hold", &hold)
				d.ScanArgs(t, "decision", &decision)
				w.resolve(name, hold, decision)
				return ""
			case "request":
				raw := w.request(d.Input)
				response, body := w.send(raw)
				documented.check(t, raw, response, body)
				w.remember(t, d, body)
				return w.describe(response, body)
			case "advance":
				var text string
				d.ScanArgs(t, "d", &text)
				by, err := time.ParseDuration(text)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				w.now = w.now.Add(by)
				return ""
			case "stored":
				return w.stored()
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
	documented.complete(t)
}

// keyOf makes the key that a directive asks for.
func (w *world) keyOf(t *testing.T, d *datadriven.TestData) string {
	var name, scopes, plan string
	d.ScanArgs(t, "name", &name)
	var list []string
	if d.HasArg("scopes") {
		d.ScanArgs(t, "scopes", &scopes)
		list = strings.Split(scopes, "+")
	}
	if d.HasArg("plan") {
		d.ScanArgs(t, "plan", &plan)
	}
	return strings.Join(w.createKey(name, accounts.NewKey{Scopes: list, Plan: plan}).Scopes, " ")
}

// remember keeps the members of an answer that a directive names.
func (w *world) remember(t *testing.T, d *datadriven.TestData, body string) {
	for _, argument := range d.CmdArgs {
		_, rest, found := strings.Cut(body, fmt.Sprintf(`"%s":"`, argument.Key))
		value, _, ends := strings.Cut(rest, `"`)
		if !found || !ends {
			d.Fatalf(t, "the answer has no member %s: %s", argument.Key, body)
		}
		w.said[argument.Vals[0]] = value
	}
}
