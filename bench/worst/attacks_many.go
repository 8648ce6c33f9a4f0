package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"
)

// groupsPolicy counts apart by whatever the agent says.
const groupsPolicy = policyHead + `deny_if.metadata.denied equals yes

## soft_limits
cap.a.max_count: 100000
cap.a.window: day
cap.a.action: bash
cap.a.group_by: metadata.a
cap.b.max_count: 100000
cap.b.window: hour
cap.b.action: bash
cap.b.group_by: metadata.b
`

// groupedCrowd is a crowd whose policy has caps with groups.
func groupedCrowd(a *attacker) error { return a.deployAll(func() string { return groupsPolicy }) }

// longText is as long as the value of a group should be.
var longText = strings.Repeat("g", 200)

// decideAnew has a decision in groups that there were none of, under a nonce by which it is remembered.
func (a *account) decideAnew(n int64) error {
	_, err := a.send("/v1/authorize", fmt.Sprintf(`"request_nonce":"%032d",`, n), fmt.Sprintf(`{"a":"%s%d","b":"%s%d"}`, longText, n, longText, n))
	return err
}

// newGroups has such decisions, one after the other.
func newGroups(ctx context.Context, a *attacker, client int) {
	if a.crowd[client%manyKeys].decideAnew(a.begun.Add(1)) != nil {
		pause(ctx, 100*time.Millisecond)
	}
}

// manyRules is a policy of as many rules that look through the same list as are not refused.
func manyRules() string {
	var text strings.Builder
	text.WriteString(policyHead)
	for i := range 90 {
		fmt.Fprintf(&text, "deny_if.metadata.list contains x%d\n", i)
	}
	return text.String()
}

// crowdOfRules is a crowd whose policy has many rules.
func crowdOfRules(a *attacker) error { return a.deployAll(manyRules) }

// longList is a request's metadata that nearly fills a body, and all of manyRules deny it.
var longList = func() string {
	var text strings.Builder
	text.WriteString(`{"list":["x0"`)
	for i := range 90 {
		fmt.Fprintf(&text, `,"x%d"`, i)
	}
	for text.Len() < 60_000 {
		text.WriteString(`,"aaaaaaaaaaaaaaaa"`)
	}
	return text.String() + `]}`
}()

// explained asks for an explanation.
func explained(ctx context.Context, a *attacker, client int) {
	a.begun.Add(1)
	if _, err := a.crowd[client%manyKeys].send("/v1/authorize/test-run?explain=true", "", longList); err != nil {
		pause(ctx, 100*time.Millisecond)
	}
}

// eventfulCrowd is a crowd each of whose keys has events.
func eventfulCrowd(a *attacker) error {
	if err := groupedCrowd(a); err != nil {
		return err
	}
	for i := range 10 * manyKeys {
		if err := a.service.patiently(func() error { return a.crowd[i%manyKeys].decideAnew(int64(i)) }); err != nil {
			return err
		}
	}
	return nil
}

// deafPage asks for pages of events, one after the other on one connection, and does not read the answers.
func deafPage(ctx context.Context, a *attacker, client int) {
	c := a.dial(ctx, client)
	if c == nil {
		return
	}
	for range 30 {
		fmt.Fprintf(c, "GET /v1/events?limit=1000 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\n\r\n", a.crowd[client%manyKeys].key)
	}
	hold(ctx, c)
}

// manyHooked is how many keys have webhooks.
const manyHooked = 10

var keyText = regexp.MustCompile(`sk_svc_\w+`)

// neverAnswer accepts connections until the listener is closed, and closes them then.
func neverAnswer(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
	}
}

// hookedCrowd is a crowd of keys with a paid plan, of which each has webhooks whose receivers do not answer.
func hookedCrowd(a *attacker) error {
	var err error
	if a.receiver, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	go neverAnswer(a.receiver)
	for i := range manyHooked {
		m, err := newAccount(a.service, loopback(5, 1+i))
		if err != nil {
			return err
		}
		if a.service.binary != "" { // no floor
			made, err := a.service.operate("keys", "create", "--email", "a@example.com", "--plan", "growth", "--scope", "authorize", "--scope", "warranty:deploy", "--scope", "webhooks:write")
			if m.key = keyText.FindString(string(made)); err != nil || m.key == "" {
				return fmt.Errorf("a key: %w\n%s", err, made)
			}
		}
		if err := m.deployPatiently(groupsPolicy); err != nil {
			return err
		}
		for n := range 10 {
			body, _ := json.Marshal(map[string]any{"url": fmt.Sprintf("http://%s/%d", a.receiver.Addr(), n), "events": []string{"intent.denied"}}) // texts
			if _, err := m.call("/v1/webhooks", body); err != nil {
				return err
			}
		}
		a.crowd = append(a.crowd, m)
	}
	return nil
}

// deniedIntent has an intent denied, which each webhook is told.
func deniedIntent(ctx context.Context, a *attacker, client int) {
	a.begun.Add(1)
	_, _ = a.crowd[client].send("/v1/authorize", "", `{"denied":"yes"}`) // a denial is no success
	pause(ctx, 300*time.Millisecond)
}
