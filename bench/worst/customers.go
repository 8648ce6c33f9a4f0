package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/attest"
)

// customerCount is how many customers there are, each with a key and an address of its own. Each asks once in customerPause,
// which is within the limits of a hosted service.
const (
	customerCount = 10
	customerPause = 400 * time.Millisecond
)

// customerPolicy is an everyday policy.
const customerPolicy = `version: 2.0.0

## tool_calls
allowed: bash, web_fetch
bash.blocked_commands: rm -rf, sudo, shutdown

## custom
deny_if.metadata.environment equals production
`

// An account is a free API key with its owner's e-mail address and operator key.
type account struct {
	service  *service
	ip       net.IP
	client   *http.Client
	key      string
	operator ed25519.PrivateKey
}

// newAccount makes an account at an address that has no key yet.
func newAccount(s *service, ip net.IP) (*account, error) {
	_, operator, err := ed25519.GenerateKey(rand.Reader)
	return &account{service: s, ip: ip, client: clientFrom(ip), operator: operator}, err
}

// register makes an account at an address.
func register(s *service, ip net.IP) (*account, error) {
	a, err := newAccount(s, ip)
	if err != nil {
		return nil, err
	}
	var text []byte
	err = s.patiently(func() (err error) {
		text, err = a.call("/v1/keys/register", []byte(`{"email":"a@example.com"}`))
		return err
	})
	if err != nil {
		return nil, err
	}
	var made struct {
		Key string `json:"api_key"`
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return nil, err
	}
	a.key = made.Key
	return a, nil
}

func (a *account) call(path string, body []byte) ([]byte, error) {
	return call(a.client, http.MethodPost, "http://"+a.service.address+path, a.key, body)
}

// deploy signs a policy and deploys it.
func (a *account) deploy(policy string) error {
	signed, err := grammar.Join([]byte(policy), attest.SignPolicy(a.operator, []byte(policy)))
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{
		"warranty_md": string(signed), "operator_public_key": base64.RawURLEncoding.EncodeToString(a.operator.Public().(ed25519.PublicKey)),
	})
	if err != nil {
		return err
	}
	_, err = a.call("/v1/warranty/deploy", body)
	return err
}

// testRun asks about a command, with metadata.
func (a *account) testRun(metadata string) ([]byte, error) {
	return a.send("/v1/authorize/test-run", "", metadata)
}

// send asks one of the routes that decide about a command, with metadata, and with fields of the request, each with a comma
// after it.
func (a *account) send(path, fields, metadata string) ([]byte, error) {
	return a.call(path, fmt.Appendf(nil, `{%s"framework":"custom","agentId":"a","txCommit":"%s","intent":{"action":"bash","command":"ls","metadata":%s}}`,
		fields, strings.Repeat("ab", 32), metadata))
}

// customers are others than the attacker.
type customers []*account

func newCustomers(s *service) (all customers, err error) {
	for i := range customerCount {
		a, err := register(s, loopback(2, 1+i))
		if err == nil {
			err = a.deployPatiently(customerPolicy)
		}
		if err != nil {
			return nil, fmt.Errorf("a customer: %w", err)
		}
		all = append(all, a)
	}
	return all, nil
}

// figures are what the customers saw.
type figures struct {
	asked, failed int
	fault         error         // one of those that failed
	half, most    time.Duration // p50 and p99 of all
}

// lockedOut reports whether most test-runs failed. Single ones do where a machine is slow: they are refused, or too late.
func (f figures) lockedOut() bool { return 2*f.failed > f.asked }

// ask has the customers ask until ctx ends.
func (c customers) ask(ctx context.Context) (f figures) {
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for i, a := range c {
		all.Go(func() {
			time.Sleep(time.Duration(i) * customerPause / customerCount)
			turns := time.NewTicker(customerPause)
			defer turns.Stop()
			for ctx.Err() == nil {
				begun := time.Now()
				text, err := a.testRun("{}")
				if err == nil && !bytes.Contains(text, []byte(`"status":"ALLOWED"`)) {
					err = fmt.Errorf("a test-run is answered %.300s", text)
				}
				mu.Lock()
				f.asked++
				took = append(took, time.Since(begun))
				if err != nil {
					f.failed, f.fault = f.failed+1, err
				}
				mu.Unlock()
				if a.service.over() {
					return
				}
				select {
				case <-turns.C:
				case <-ctx.Done():
				}
			}
		})
	}
	all.Wait()
	if len(took) == 0 {
		return f
	}
	slices.Sort(took)
	f.half, f.most = took[len(took)/2], took[len(took)*99/100]
	return f
}
