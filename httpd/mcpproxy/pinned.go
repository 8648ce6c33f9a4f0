package mcpproxy

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"bailiff/httpd/client"
)

// A PinStore keeps the pins of one server, which all proxies with the same API key share.
type PinStore interface {
	// Pins returns all of them.
	Pins(ctx context.Context) ([]client.Pin, error)
	// Meet pins the tools that are not pinned, notes which of the others have changed, and returns all pins.
	Meet(ctx context.Context, tools []client.ListedTool) ([]client.Pin, error)
}

// Pins are the definitions of a server's tools that are accepted. The store has them; what was read from it is used for as
// long as pinAge says.
type Pins struct {
	store PinStore
	now   func() time.Time

	turn  chan struct{} // has room while the store is not asked
	asked atomic.Uint64 // how often it was
	last  error         // of the last question; guarded by turn

	mu    sync.Mutex
	at    time.Time             // when known was read; zero where it has to be read again
	known map[string]client.Pin // by the name of the tool; nil before it was read
}

// Times of pins.
const (
	// pinAge bounds for how long a definition counts as accepted without a look at the store.
	pinAge = time.Minute
	// refusedAge bounds for how long one counts as not accepted.
	refusedAge = time.Second
	// pinTime bounds one question to the store.
	pinTime = 10 * time.Second
)

// NewPins returns the pins of a store.
func NewPins(store PinStore, now func() time.Time) *Pins {
	return &Pins{store: store, now: now, turn: make(chan struct{}, 1)}
}

// servicePins are the pins of a server under the API key of a client.
type servicePins struct {
	service *client.Client
	server  string
}

// ServicePins returns the store that the service is.
func ServicePins(service *client.Client, server string) PinStore { return servicePins{service, server} }

func (s servicePins) Pins(ctx context.Context) ([]client.Pin, error) {
	return s.service.Pins(ctx, s.server)
}

func (s servicePins) Meet(ctx context.Context, tools []client.ListedTool) ([]client.Pin, error) {
	return s.service.MeetTools(ctx, s.server, tools)
}

// cached returns the pin of a tool, and how old that knowledge is.
func (p *Pins) cached(name string) (pin client.Pin, age time.Duration, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		return client.Pin{}, 0, false
	}
	age = pinAge
	if !p.at.IsZero() {
		age = p.now().Sub(p.at)
	}
	pin, known = p.known[name]
	return pin, age, known
}

// expire has the pins read again before they are used.
func (p *Pins) expire() {
	p.mu.Lock()
	p.at = time.Time{}
	p.mu.Unlock()
}

// holds reports whether a definition was the accepted one when the store was last read.
func (p *Pins) holds(name, hash string) bool {
	pin, _, known := p.cached(name)
	return known && pin.SHA256 == hash
}

// check reports whether a definition is the accepted one, and whether the tool is pinned at all. It reads the store where
// what is known is too old: what is accepted for a minute, what is not for a second, so that the operator's word counts
// soon. After an error, stale says whether the definition was the accepted one before.
func (p *Pins) check(ctx context.Context, name, hash string) (accepted, pinned, stale bool, err error) {
	pin, age, known := p.cached(name)
	accepted = known && pin.SHA256 == hash
	if accepted && age < pinAge || known && !accepted && age < refusedAge {
		return accepted, true, false, nil
	}
	if err := p.ask(ctx, p.store.Pins); err != nil {
		return false, known, accepted, err
	}
	pin, _, known = p.cached(name)
	return known && pin.SHA256 == hash, known, false, nil
}

// ask asks the store, and keeps its answer. A caller that waited for another one's question takes that one's answer.
func (p *Pins) ask(ctx context.Context, question func(context.Context) ([]client.Pin, error)) error {
	before := p.asked.Load()
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	if p.asked.Load() != before && (p.last == nil || unreachable(p.last)) {
		return p.last
	}
	return p.askLocked(ctx, question)
}

func (p *Pins) askLocked(ctx context.Context, question func(context.Context) ([]client.Pin, error)) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pinTime) // others wait for the same answer
	defer cancel()
	pins, err := question(ctx)
	p.last = err
	p.asked.Add(1)
	if err != nil {
		return err
	}
	known := make(map[string]client.Pin, len(pins))
	for _, pin := range pins {
		known[pin.Name] = pin
	}
	p.mu.Lock()
	p.known, p.at = known, p.now()
	p.mu.Unlock()
	return nil
}

// meet pins tools that are new, and has the store note which of the others have changed. Tools that cannot be pinned are
// left out: calls of them are refused.
func (p *Pins) meet(ctx context.Context, tools []tool) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.turn }()
	if !p.fresh() {
		if err := p.askLocked(ctx, p.store.Pins); err != nil {
			return err
		}
	}
	var batch []client.ListedTool
	size := 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		met := batch
		batch, size = nil, 0
		return p.askLocked(ctx, func(ctx context.Context) ([]client.Pin, error) { return p.store.Meet(ctx, met) })
	}
	for i := range tools {
		t := &tools[i]
		if !p.news(t) || t.unpinnable() != nil {
			continue
		}
		form, err := t.form()
		if err != nil {
			return err
		}
		listed := client.ListedTool{Name: t.name, Definition: form}
		bytes := encodedSize(listed)
		if len(batch) == client.MaxToolsMet || size+bytes > client.MaxToolsMetBytes-batchHead {
			if err := send(); err != nil {
				return err
			}
		}
		batch, size = append(batch, listed), size+bytes
	}
	return send()
}

// batchHead is more than the members of a request besides its tools take.
const batchHead = 1 << 10

// encodedSize is how much of a request a tool takes, with its comma. The client escapes as encoding/json does by itself.
func encodedSize(t client.ListedTool) int {
	text, err := json.Marshal(t)
	if err != nil {
		return client.MaxToolsMetBytes
	}
	return len(text) + 1
}

// fresh reports whether the pins were read a short time ago.
func (p *Pins) fresh() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known != nil && !p.at.IsZero() && p.now().Sub(p.at) < pinAge
}

// news reports whether the store does not know a tool as it is.
func (p *Pins) news(t *tool) bool {
	pin, _, known := p.cached(t.name)
	return !known || pin.SHA256 != t.hash && (pin.Changed == nil || pin.Changed.SHA256 != t.hash)
}

// unpinnable says why a tool cannot be pinned; nil where it can.
func (t *tool) unpinnable() *refusal {
	switch {
	case t.name == "" || len(t.name) > client.MaxToolName:
		return refuse(codeName, "the tool %.64q has a name of %d bytes; at most %d can be pinned: rename the tool on the server", t.name, len(t.name), client.MaxToolName)
	case t.size > client.MaxToolDefinition:
		return refuse(codeDefinition, "the definition of the tool %.64q has %d bytes in RFC 8785 form; at most %d can be pinned: shorten it on the server", t.name, t.size, client.MaxToolDefinition)
	}
	return nil
}

// refusePins is the refusal of a call where the pins cannot be had, or the service does not take another one.
func refusePins(err error) *refusal {
	var refused *client.Refused
	r := refuse(codePins, "the pins of the server's tools cannot be had: %v; nothing was forwarded", err)
	if errors.As(err, &refused) && refused.Code != "" {
		r = &refusal{code: refused.Code, message: refused.Message + "; nothing was forwarded"}
	}
	r.status = "ERROR"
	return r
}

// unreachable reports whether the store gave no answer.
func unreachable(err error) bool {
	var gone *client.Unreachable
	return errors.As(err, &gone)
}
