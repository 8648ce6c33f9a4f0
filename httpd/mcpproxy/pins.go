package mcpproxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/runtime/canonical"
)

// A tool is one entry of a list of tools.
type tool struct {
	name       string
	definition jsontext.Value // as it was written
	hash       string         // the SHA-256 of its RFC 8785 form, in hexadecimal digits
	headers    bindings
}

// readTools reads a page of tools/list. A tool that is listed twice is an error: nobody can tell which one a call means.
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
		form := jsontext.Value(append([]byte(nil), value...))
		if err := form.Canonicalize(); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(form)
		schema, _ := valueOf(definition, "inputSchema")
		tools = append(tools, tool{name, value, hex.EncodeToString(sum[:]), bindingsOf(schema)})
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

	turn sync.Mutex // held while the proxy lists tools
	mu   sync.Mutex
	at   time.Time       // of the oldest entry
	last map[string]tool // by name, without definitions; nil before they are known
}

// note keeps the definitions of tools that the server listed, and pins those that are new.
func (g *Guard) note(l *listing, tools []tool) *refusal {
	if err := g.Pins.Meet(tools); err != nil {
		return refuse(CodePins, "%v", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last, l.at = map[string]tool{}, g.Now()
	}
	for _, t := range tools {
		t.definition = nil
		l.last[t.name] = t
	}
	if len(l.last) > maxListed {
		l.last = nil
		return refuse(CodeServerMalformed, "the server lists more than %d tools", maxListed)
	}
	return nil
}

// forget has the tools listed again before the next call.
func (l *listing) forget() {
	l.mu.Lock()
	l.last = nil
	l.mu.Unlock()
}

func (l *listing) definitionOf(name string, now time.Time) (t tool, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.maxAge > 0 && now.Sub(l.at) > l.maxAge {
		l.last = nil
	}
	t, known = l.last[name]
	return t, known
}

// pinned returns a tool where its definition is the one that was accepted.
func (s *session) pinned(ctx context.Context, name string, u *underWay, list lister) (t tool, r *refusal) {
	t, known := s.tools.definitionOf(name, s.g.Now())
	if !known {
		if r := s.listTools(ctx, name, u.meta, list); r != nil {
			return tool{}, r
		}
		if t, known = s.tools.definitionOf(name, s.g.Now()); !known {
			return tool{}, refuse(CodeToolUnlisted, "the server does not list the tool %.64q; call one of tools/list", name)
		}
	}
	accepted, err := s.g.Pins.Accepted(name, t.hash)
	switch {
	case err != nil:
		return tool{}, refuse(CodePins, "%v", err)
	case !accepted:
		return tool{}, refuse(CodeToolChanged, "the definition of the tool %.64q is not the one that was pinned; the operator has to look at the change and run `bailiff mcp accept --server %s TOOL`", name, s.g.Server)
	}
	return t, nil
}

// listTools asks the server for all its tools.
func (s *session) listTools(ctx context.Context, name string, meta jsontext.Value, list lister) *refusal {
	s.tools.turn.Lock()
	defer s.tools.turn.Unlock()
	if _, known := s.tools.definitionOf(name, s.g.Now()); known {
		return nil // another call has listed them in the meantime
	}
	cursor := ""
	for range maxListPages {
		result, err := list(ctx, listParams(meta, cursor))
		if err != nil {
			return refuse(CodeToolUnlisted, "the server's list of tools cannot be had: %v", err)
		}
		tools, err := readTools(result)
		if err != nil {
			return refuse(CodeServerMalformed, "the server's list of tools cannot be read: %v", err)
		}
		if r := s.g.note(s.tools, tools); r != nil {
			return r
		}
		members, _ := readObject(result)
		next, _ := textOf(members, "nextCursor")
		if next == "" {
			return nil
		}
		cursor = next
	}
	return refuse(CodeServerMalformed, "the server's list of tools has more than %d pages", maxListPages)
}

// listParams are the params of tools/list with the client's own _meta, which has no token for progress then: the client
// did not ask for this list.
func listParams(meta jsontext.Value, cursor string) jsontext.Value {
	params := []byte{'{'}
	if members, err := readObject(meta); err == nil {
		params = append(appendMembers(append(params, `"_meta":`...), members, "progressToken"), ',')
	}
	if cursor != "" {
		params = append(canonical.AppendString(append(params, `"cursor":`...), cursor), ',')
	}
	if n := len(params); params[n-1] == ',' {
		params = params[:n-1]
	}
	return append(params, '}')
}
