package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// manyKeys is how many free keys a crowd has, each at a source of its own.
const manyKeys = 60

// crowd registers free keys.
func crowd(a *attacker) (err error) {
	for i := range manyKeys {
		m, failed := register(a.service, loopback(4, 1+i))
		a.crowd, err = append(a.crowd, m), errors.Join(err, failed)
	}
	return err
}

// bulkyCrowd is a crowd in which each key deploys a large text at the same time, so that few groups of records have them all.
func bulkyCrowd(a *attacker) error { return a.deployAll(bulkyText) }

// deployAll makes a crowd, and has each key deploy a policy of its own.
func (a *attacker) deployAll(text func() string) error {
	if err := crowd(a); err != nil {
		return err
	}
	faults := make([]error, manyKeys)
	var all sync.WaitGroup
	for i, m := range a.crowd {
		all.Go(func() { faults[i] = m.deployPatiently(text()) })
	}
	all.Wait()
	return errors.Join(faults...)
}

// deployPatiently deploys as soon as there is room to compile.
func (a *account) deployPatiently(policy string) error {
	return a.service.patiently(func() error { return a.deploy(policy) })
}

// bulkyText is nearly all comment, and can't be compressed.
func bulkyText() string {
	var text strings.Builder
	text.WriteString(policyHead + "deny_if.metadata.x equals y\n")
	for text.Len() < policyBytes-200 {
		text.WriteString("# " + rand.Text() + rand.Text() + rand.Text() + "\n")
	}
	return text.String()
}

// largestPage asks for the largest page of a key's events.
func largestPage(ctx context.Context, a *attacker, client int) {
	a.begun.Add(1)
	m := a.crowd[client%manyKeys]
	if _, err := call(m.client, http.MethodGet, "http://"+a.service.address+"/v1/events?limit=1000", m.key, nil); err != nil {
		pause(ctx, 100*time.Millisecond)
	}
}

// largeProgram is a policy whose program is nearly as large as it may be, and which takes milliseconds to judge a context of
// some KiB. Each is another's.
func largeProgram(n int64) string {
	text := policyHead + "deny_if.context matches .{0,200}xN$\n"
	for i := range 4 {
		text += fmt.Sprintf("deny_if.action matches ^(?:\\p{Lu}\\p{Ll}\\p{Lo}\\pN\\pP\\pM\\p{Greek}\\p{Han}\\p{Arabic}){90}x%dy%d\n", i, n)
	}
	return text
}

// manyPrograms deploys, and has test-runs wait that were sent by the program before.
func manyPrograms(ctx context.Context, a *attacker, client int) {
	m := a.crowd[client]
	if m.deploy(largeProgram(a.begun.Add(1))) != nil {
		pause(ctx, 50*time.Millisecond)
	}
	for range 3 {
		a.all.Go(func() { _, _ = m.send("/v1/authorize/test-run", slowContext, "{}") })
	}
}

// holdingPolicy has a person decide about everything.
const holdingPolicy = "version: 2.0.0\n\n## tool_calls\nallowed: bash\nrequire_approval: bash\n\n"

// holdingCrowd is a crowd in which each key has a hold.
func holdingCrowd(a *attacker) error {
	if err := a.deployAll(func() string { return holdingPolicy }); err != nil {
		return err
	}
	for _, m := range a.crowd {
		var body []byte
		err := a.service.patiently(func() (err error) {
			body, err = m.call("/v1/authorize", fmt.Appendf(nil, `{"framework":"custom","agentId":"a","txCommit":"%s","intent":{"action":"bash","command":"ls"}}`, strings.Repeat("ab", 32)))
			return err
		})
		_, id, found := strings.Cut(string(body), `"holdId":"`)
		if err != nil || !found {
			return fmt.Errorf("no hold was opened: %w %s", err, body)
		}
		a.holds = append(a.holds, id[:36])
	}
	return nil
}

// waitForHold waits for a hold that is never resolved, and does not read the answer.
func waitForHold(ctx context.Context, a *attacker, client int) {
	c := a.dial(ctx, client)
	if c == nil {
		return
	}
	defer c.Close()
	of := client % manyKeys
	fmt.Fprintf(c, "GET /v1/holds/%s?wait=20 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n\r\n", a.holds[of], a.crowd[of].key)
	pause(ctx, 20*time.Second)
}
