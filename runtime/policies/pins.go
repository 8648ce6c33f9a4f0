package policies

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	"bailiff/runtime/service"
	"bailiff/runtime/strictjson"
	"bailiff/vm/errcode"
)

// MaxPinsBody bounds the body of a request that pins tools, in bytes.
const MaxPinsBody = ledger.MaxToolsMetBytes

// PinView is one tool of an MCP server as a key knows it.
type PinView struct {
	Name       string    `json:"name"`
	SHA256     string    `json:"sha256"` // of the definition that is accepted, in RFC 8785 form
	AcceptedAt time.Time `json:"acceptedAt"`
	// Changed is what a server has shown instead; nil where that is nothing, or the operator has decided since.
	Changed *ChangedView `json:"changed,omitempty"`
}

// ChangedView is a definition that is not accepted.
type ChangedView struct {
	SHA256 string    `json:"sha256"`
	SeenAt time.Time `json:"seenAt"`
}

// PinsView is what one key has pinned of one MCP server.
type PinsView struct {
	Server string    `json:"server"`
	Tools  []PinView `json:"tools"`
}

// Pins lists what a key has pinned of an MCP server, by the names of the tools.
func (a *Policies) Pins(ctx context.Context, key *ledger.Key, server string) (*PinsView, *service.Failure) {
	if err := ledger.CheckServer(server); err != nil {
		return nil, service.Fail(errcode.ValidationSchema, service.Reason(err, ledger.ErrInvalid))
	}
	pins, err := a.Ledger.Pins(ctx, key.ID, server)
	if err != nil {
		return nil, a.StoreFault("pins could not be read", err)
	}
	view := &PinsView{Server: server, Tools: make([]PinView, len(pins))}
	for i := range pins {
		view.Tools[i] = viewPin(&pins[i])
	}
	return view, nil
}

// MeetTools pins those tools of an MCP server that the key has not pinned, and notes which of the others have changed. It
// returns all pins of the server. Nothing that a key's holder sends changes what is accepted of a tool that is pinned.
func (a *Policies) MeetTools(ctx context.Context, key *ledger.Key, body []byte) (*PinsView, *service.Failure) {
	list := ledger.ToolList{Key: key.ID, At: a.Clock().UnixNano()}
	fault := service.ReadBody(body,
		strictjson.Text("server", true, ledger.MaxServerName, &list.Server),
		strictjson.BoundedList("tools", ledger.MaxToolsMet, func(value json.RawMessage) string { return readTool(value, &list) }),
	)
	if fault != nil {
		return nil, fault
	}
	if err := list.Validate(); err != nil {
		return nil, service.Fail(errcode.ValidationSchema, service.Reason(err, ledger.ErrInvalid))
	}
	if err := a.Ledger.MeetTools(ctx, &list); err != nil {
		return nil, a.pinFault(err)
	}
	return a.Pins(ctx, key, list.Server)
}

// readTool reads one tool of a list.
func readTool(value json.RawMessage, list *ledger.ToolList) (problem string) {
	var name, definition string
	problem = strictjson.Object(value, []strictjson.Member{
		strictjson.Text("name", true, ledger.MaxToolName, &name),
		strictjson.Text("definition", true, ledger.MaxToolDefinition, &definition),
	})
	switch {
	case problem != "":
		return problem
	case definition[0] != '{' || !json.Valid([]byte(definition)):
		return "definition is not the text of a JSON object"
	}
	list.Tools = append(list.Tools, ledger.ListedTool{Name: name, Definition: []byte(definition)})
	return ""
}

// pinBounds say of each bound on pins which code a request beyond it gets, and what is bounded.
var pinBounds = map[ledger.PinBound]struct {
	code errcode.Code
	what string
}{
	ledger.PinnedServers: {errcode.TooManyPinnedServers, "MCP servers"},
	ledger.PinnedTools:   {errcode.TooManyPinnedTools, "tools of this MCP server"},
	ledger.PinnedBytes:   {errcode.PinnedBytesFull, "bytes of definitions of tools"},
}

func (a *Policies) pinFault(err error) *service.Failure {
	var beyond *ledger.PinError
	if errors.As(err, &beyond) {
		row := pinBounds[beyond.Bound]
		return service.Fail(row.code, fmt.Sprintf("the API key would pin more than %d %s, so nothing was pinned; the operator makes room: bailiff mcp forget", beyond.Most, row.what))
	}
	return a.StoreFault("tools could not be pinned", err)
}

func viewPin(pin *ledger.Pin) PinView {
	view := PinView{Name: pin.Tool, SHA256: hex.EncodeToString(pin.Accepted.SHA256[:]), AcceptedAt: clock.Moment(pin.Accepted.At)}
	if pin.Changed.SHA256 != [32]byte{} {
		view.Changed = &ChangedView{SHA256: hex.EncodeToString(pin.Changed.SHA256[:]), SeenAt: clock.Moment(pin.Changed.At)}
	}
	return view
}

// KeyPinView is a pin as the operator sees it.
type KeyPinView struct {
	KeyID  string `json:"keyId"`
	Server string `json:"server"`
	PinView
	// Definition and ChangedDefinition are the texts, where one tool was asked for.
	Definition        string `json:"definition,omitempty"`
	ChangedDefinition string `json:"changedDefinition,omitempty"`
}

// PinQuery says which pins an operator means. What is empty does not narrow.
type PinQuery struct {
	KeyID  string `json:"keyId,omitempty"`
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
}

// PinChoice is an operator's word about a tool, or about all tools of a server where it names none.
type PinChoice struct {
	PinQuery
	SHA256 string `json:"sha256,omitempty"` // of the definition to accept
}

// AllPins lists pins key by key, by server and tool, without revoked keys; with the definitions where the query names a tool.
func (a *Policies) AllPins(ctx context.Context, query PinQuery) ([]KeyPinView, error) {
	keys, err := a.pinners(ctx, query.KeyID)
	if err != nil {
		return nil, err
	}
	views := []KeyPinView{}
	for i := range keys {
		pins, err := a.Ledger.Pins(ctx, keys[i].ID, query.Server)
		if err != nil {
			return nil, err
		}
		for j := range pins {
			if query.Tool != "" && query.Tool != pins[j].Tool {
				continue
			}
			view := KeyPinView{KeyID: keys[i].ID.String(), Server: pins[j].Server, PinView: viewPin(&pins[j])}
			if query.Tool != "" {
				whole, err := a.Ledger.Pin(ctx, keys[i].ID, pins[j].Server, query.Tool)
				if err != nil {
					return nil, err
				}
				view.PinView = viewPin(&whole)
				view.Definition, view.ChangedDefinition = string(whole.Accepted.Text), string(whole.Changed.Text)
			}
			views = append(views, view)
		}
	}
	return views, nil
}

// pinners returns the key of an id or, where that is empty, all keys that are good.
func (a *Policies) pinners(ctx context.Context, id string) (good []ledger.Key, err error) {
	if id != "" {
		parsed, err := ledger.ParseID(id)
		if err != nil {
			return nil, err
		}
		key, found := a.Ledger.LookupKeyID(parsed)
		if !found {
			return nil, fmt.Errorf("%w: no key has the id %s", ledger.ErrNotFound, id)
		}
		return []ledger.Key{*key}, nil
	}
	keys, err := a.Ledger.Keys(ctx)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if keys[i].Revoked == 0 {
			good = append(good, keys[i])
		}
	}
	return good, nil
}

// AcceptTool accepts the definition of a pinned tool that the operator has looked at.
func (a *Policies) AcceptTool(ctx context.Context, choice PinChoice) (KeyPinView, error) {
	decision, err := a.pinDecision(&choice)
	if err != nil {
		return KeyPinView{}, err
	}
	raw, err := hex.DecodeString(choice.SHA256)
	if err != nil || len(raw) != len(decision.SHA256) {
		return KeyPinView{}, fmt.Errorf("%w: sha256 is %.80q; give the 64 hexadecimal digits of the definition to accept", ledger.ErrInvalid, choice.SHA256)
	}
	copy(decision.SHA256[:], raw)
	if err := a.Ledger.AcceptTool(ctx, &decision); err != nil {
		return KeyPinView{}, err
	}
	views, err := a.AllPins(ctx, choice.PinQuery)
	if err != nil || len(views) != 1 {
		return KeyPinView{}, errors.Join(err, fmt.Errorf("%w: the tool is not pinned any more", ledger.ErrNotFound))
	}
	return views[0], nil
}

// ForgetTools gives up the pin of a tool or, where the choice names none, of all tools of its server. What their servers list
// next is pinned.
func (a *Policies) ForgetTools(ctx context.Context, choice PinChoice) (PinQuery, error) {
	decision, err := a.pinDecision(&choice)
	if err != nil {
		return PinQuery{}, err
	}
	return choice.PinQuery, a.Ledger.ForgetTools(ctx, &decision)
}

func (a *Policies) pinDecision(choice *PinChoice) (ledger.PinDecision, error) {
	key, err := ledger.ParseID(choice.KeyID)
	if err != nil {
		return ledger.PinDecision{}, err
	}
	return ledger.PinDecision{Key: key, Server: choice.Server, Tool: choice.Tool, At: a.Clock().UnixNano()}, nil
}
