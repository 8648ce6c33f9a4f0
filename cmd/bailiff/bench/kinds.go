package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bailiff/bench"
	"bailiff/bench/load"
	"bailiff/cmd/bailiff/cli"
)

// A kind is a kind of requests, with its answers.
type kind struct {
	name  string
	share int
	due   int // how far it is behind its share
	shot  *load.Shot

	others map[string]int64 // answers of another kind, by status
	first  string           // the first of these
}

// A form is what all requests of a kind have in common.
type form struct {
	path, status string
	answer       string // that is in each body
	usual        string // the request where no file is given; "" for none
}

const hookEvent = `{"hook_event_name":"PreToolUse","session_id":"bench","cwd":"/work","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"go test ./..."}}`

var forms = map[string]form{
	"allowed":  {"/v1/authorize", "200", `"status":"ALLOWED"`, bench.AllowedIntent},
	"denied":   {"/v1/authorize", "403", `"policyHash":"`, bench.DeniedIntent},
	"pending":  {"/v1/authorize", "202", `"status":"PENDING"`, ""},
	"test-run": {"/v1/authorize/test-run", "200", `"test_run":true`, bench.AllowedIntent},
	"hook":     {"/v1/hooks/claude-code", "200", `{`, hookEvent},
}

// kinds are the kinds of the mix.
func (c *runCommand) kinds(std cli.Streams, address string) (kinds []*kind, err error) {
	names := strings.Join(slices.Sorted(maps.Keys(forms)), ", ")
	for name := range c.Request {
		if c.Mix[name] == 0 {
			return nil, cli.Usage("--request has the kind %q, which --mix does not have", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Mix)) {
		f, known := forms[name]
		switch share := c.Mix[name]; {
		case !known:
			return nil, cli.Usage("--mix has the kind %q; kinds are %s", name, names)
		case share < 0 || share > maxShare:
			return nil, cli.Usage("--mix: the share of %s is %d; write a number from 0 to %d", name, share, maxShare)
		case share == 0:
			continue
		}
		body, err := c.body(std, name, f)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, newKind(name, c.Mix[name], f))
		kinds[len(kinds)-1].shot.Request = body
	}
	if len(kinds) == 0 {
		return nil, cli.Usage("--mix has no kind with a share; kinds are %s", names)
	}
	key, err := c.Key(std)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		k.shot.Request = load.Render(forms[k.name].path, address, key, string(k.shot.Request))
	}
	return kinds, nil
}

const maxShare = 1_000_000

// body is the request of a kind.
func (c *runCommand) body(std cli.Streams, name string, f form) ([]byte, error) {
	file := c.Request[name]
	switch {
	case file == "" && f.usual == "":
		return nil, cli.Usage("there is no request that every policy holds; give one with --request %s=FILE", name)
	case file == "":
		return []byte(f.usual), nil
	}
	body, err := cli.ReadBounded(std, file, maxIntentBytes)
	if err == nil && !json.Valid(body) {
		err = cli.Usage("%s is not JSON", file)
	}
	return body, err
}

func newKind(name string, share int, f form) *kind {
	k := &kind{name: name, share: share, others: map[string]int64{}}
	k.shot = &load.Shot{Status: f.status, Latency: load.NewHistogram(), Other: k.other, Body: func(body []byte) error {
		if !strings.Contains(string(body), f.answer) {
			return fmt.Errorf("an answer of the kind %s lacks %s", name, f.answer)
		}
		return nil
	}}
	return k
}

// other counts an answer of another kind.
func (k *kind) other(status string, body []byte) {
	k.others[status]++
	if k.first == "" {
		k.first = k.name + ": " + status + " " + strings.Map(cli.OneLine, string(body[:min(len(body), 300)]))
	}
}

// try asks once, and forgets it.
func (k *kind) try(one *load.Client) error {
	if err := one.Exchange(); err != nil {
		return cli.Fail("asking for %s: %v", k.name, err)
	}
	if k.first != "" {
		return cli.Fail("the service does not answer as %s is: %s; give a request that it does so with --request %s=FILE", k.name, k.first, k.name)
	}
	return nil
}
