package mcpproxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/runtime/jcs"
)

// A tool is one entry of a list of tools.
type tool struct {
	name       string
	definition jsontext.Value // as it was written
	hash       string         // the SHA-256 of its RFC 8785 form, in hexadecimal digits
	size       int            // of that form
	headers    bindings
}

// form is the definition in RFC 8785 form.
func (t *tool) form() (string, error) {
	form := slices.Clone(t.definition)
	if err := form.Canonicalize(); err != nil {
		return "", err
	}
	return string(form), nil
}

// readTools reads a page of tools/list. A tool that is listed twice is an error: a call could mean either.
func readTools(result jsontext.Value) ([]tool, error) {
	if err := scan(result, true); err != nil {
		return nil, err
	}
	members, err := readObject(result)
	if err != nil {
		return nil, err
	}
	raw, ok := valueOf(members, "tools")
	if other, found := otherCase(members, []string{"tools", "nextCursor"}); found {
		return nil, fmt.Errorf("it has %.64q, which some readers take for another member", other)
	}
	if !ok || raw.Kind() != '[' {
		return nil, errors.New("it has no list of tools")
	}
	values, err := readArray(raw)
	if err != nil {
		return nil, err
	}
	tools, seen := make([]tool, 0, len(values)), map[string]bool{}
	for _, value := range values {
		definition, err := readObject(value)
		if err != nil {
			return nil, err
		}
		name, ok := textOf(definition, "name")
		if other, found := otherCase(definition, []string{"name", "inputSchema"}); !ok || found {
			return nil, fmt.Errorf("a tool has no name, or a member %.64q besides", other)
		}
		if seen[name] {
			return nil, fmt.Errorf("the tool %.64q is listed twice", name)
		}
		seen[name] = true
		t := tool{name: name, definition: value}
		form, err := t.form()
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256([]byte(form))
		schema, _ := valueOf(definition, "inputSchema")
		t.hash, t.size, t.headers = hex.EncodeToString(sum[:]), len(form), bindingsOf(schema)
		tools = append(tools, t)
	}
	return tools, nil
}

// readArray reads text as one JSON array. Its values are parts of the text.
func readArray(text jsontext.Value) ([]jsontext.Value, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var values []jsontext.Value
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		values = append(values, text[end-len(value):end:end])
	}
	return values, nil
}

// A listing is what a server listed last, as one client sees it.
type listing struct {
	maxAge time.Duration // after which the tools are listed again; 0 where the server says when they change

	turn  sync.Mutex // held while the proxy lists tools
	mu    sync.Mutex
	round uint64          // of the guard when the list was asked for
	at    time.Time       // of the oldest entry
	last  map[string]tool // by name, without definitions; nil before they are known
}

// note keeps the definitions of tools that the server listed when it was asked in a round, and pins those that are new.
func (g *Guard) note(ctx context.Context, l *listing, round uint64, tools []tool) error {
	if err := g.Pins.meet(ctx, tools); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.last != nil && round < l.round:
		return nil // a newer list has come meanwhile
	case l.last == nil || round > l.round:
		l.last, l.at, l.round = map[string]tool{}, g.Now(), round
	}
	for _, t := range tools {
		t.definition = nil
		l.last[t.name] = t
	}
	if len(l.last) > maxListed {
		l.last = nil
		return errListed
	}
	return nil
}

var errListed = fmt.Errorf("the server lists more than %d tools", maxListed)

// refuseList is the refusal of what needs a list of tools that could not be noted.
func refuseList(err error) *refusal {
	if errors.Is(err, errListed) {
		return refuse(codeServerMalformed, "%v", err)
	}
	return refusePins(err)
}

// toolsChanged has every client's list of tools read again before the next call, and the pins too.
func (g *Guard) toolsChanged() {
	g.rounds.Add(1)
	g.Pins.expire()
}

// forget has the tools listed again before the next call.
func (l *listing) forget() {
	l.mu.Lock()
	l.last = nil
	l.mu.Unlock()
}

// definitionOf returns what a server listed of a tool, where it has not said since that its tools have changed.
func (g *Guard) definitionOf(l *listing, name string) (t tool, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.maxAge > 0 && g.Now().Sub(l.at) > l.maxAge || l.round != g.rounds.Load() {
		l.last = nil
	}
	t, known = l.last[name]
	return t, known
}

// maxRelists is how often the tools are listed for one call, where they change or are forgotten meanwhile.
const maxRelists = 3

// pinned returns a tool where its definition is the one that is accepted.
func (s *session) pinned(ctx context.Context, name string, u *underWay, list lister) (t tool, r *refusal) {
	for range maxRelists {
		t, known := s.g.definitionOf(s.tools, name)
		if !known {
			if known, r := s.listTools(ctx, name, u.meta, list); r != nil || !known {
				return tool{}, r
			}
			continue
		}
		if r := t.unpinnable(); r != nil {
			return tool{}, r
		}
		accepted, pinned, stale, err := s.g.Pins.check(ctx, name, t.hash)
		switch {
		case accepted:
			return t, nil
		case err != nil && stale && s.g.FailOpen && unreachable(err):
			s.g.Log("%.64q: the pin was read a while ago (failOpen): %v", name, err)
			u.failOpen = true
			return t, nil
		case err != nil:
			return tool{}, refusePins(err)
		case pinned:
			return tool{}, refuse(codeToolChanged, "the definition of the tool %.64q is not the one that was pinned; the operator has to look at the change and run `bailiff mcp accept --server %s TOOL`", name, s.g.Server)
		}
		s.tools.forget() // the operator has given the pin up: what the server lists now is pinned
	}
	return tool{}, refuse(codeToolUnlisted, "the server changes its list of tools while the call of %.64q is judged; call it again", name)
}

// listTools asks the server for all its tools. Without a refusal, found says whether the tool is among them.
func (s *session) listTools(ctx context.Context, name string, meta jsontext.Value, list lister) (found bool, r *refusal) {
	s.tools.turn.Lock()
	defer s.tools.turn.Unlock()
	if _, known := s.g.definitionOf(s.tools, name); known {
		return true, nil // another call has listed them in the meantime
	}
	cursor, round := "", s.g.rounds.Load()
	for range maxListPages {
		result, err := list(ctx, listParams(meta, cursor))
		if err != nil {
			return false, refuse(codeToolUnlisted, "the server's list of tools cannot be had: %v", err)
		}
		tools, err := readTools(result)
		if err != nil {
			return false, refuse(codeServerMalformed, "the server's list of tools cannot be read: %v", err)
		}
		if err := s.g.note(ctx, s.tools, round, tools); err != nil {
			return false, refuseList(err)
		}
		found = found || slices.ContainsFunc(tools, func(t tool) bool { return t.name == name })
		members, _ := readObject(result)
		if cursor, _ = textOf(members, "nextCursor"); cursor != "" {
			continue
		}
		if !found {
			return false, refuse(codeToolUnlisted, "the server does not list the tool %.64q; call one of tools/list", name)
		}
		return true, nil
	}
	return false, refuse(codeServerMalformed, "the server's list of tools has more than %d pages", maxListPages)
}

// listParams are the params of tools/list with the client's own _meta, which has no token for progress then: the client
// did not ask for this list.
func listParams(meta jsontext.Value, cursor string) jsontext.Value {
	params := []byte{'{'}
	if members, err := readObject(meta); err == nil {
		params = append(appendMembers(append(params, `"_meta":`...), members, "progressToken"), ',')
	}
	if cursor != "" {
		params = append(jcs.AppendString(append(params, `"cursor":`...), cursor), ',')
	}
	if n := len(params); params[n-1] == ',' {
		params = params[:n-1]
	}
	return append(params, '}')
}
