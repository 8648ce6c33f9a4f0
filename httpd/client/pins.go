package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Bounds of one MeetTools, and of one tool in it.
const (
	MaxToolsMet       = 256
	MaxToolsMetBytes  = 512 << 10 // of the request's body
	MaxToolName       = 128       // bytes
	MaxToolDefinition = 64 << 10  // bytes
)

// Pin is a tool of an MCP server that is pinned under the API key.
type Pin struct {
	Name       string    `json:"name"`
	SHA256     string    `json:"sha256"` // of the definition that is accepted, in RFC 8785 form
	AcceptedAt time.Time `json:"acceptedAt"`
	Changed    *Change   `json:"changed"` // what a server has shown instead; nil where that is nothing, or the operator has decided since
}

// Change is a definition that the operator has not accepted.
type Change struct {
	SHA256 string    `json:"sha256"`
	SeenAt time.Time `json:"seenAt"`
}

// ListedTool is a tool as its server lists it.
type ListedTool struct {
	Name       string `json:"name"`
	Definition string `json:"definition"` // in RFC 8785 form
}

// Pins returns the tools of an MCP server that are pinned.
func (c *Client) Pins(ctx context.Context, server string) ([]Pin, error) {
	_, body, err := c.Do(ctx, http.MethodGet, "/v1/mcp/pins?server="+url.QueryEscape(server), nil)
	return readPins(body, err, server)
}

// MeetTools pins those tools of an MCP server that are not pinned, has the service note which of the others have changed, and
// returns all pins of the server. It cannot change which definition of a pinned tool is accepted.
func (c *Client) MeetTools(ctx context.Context, server string, tools []ListedTool) ([]Pin, error) {
	_, body, err := c.Do(ctx, http.MethodPost, "/v1/mcp/pins", map[string]any{"server": server, "tools": tools})
	return readPins(body, err, server)
}

func readPins(body []byte, err error, server string) ([]Pin, error) {
	if err != nil {
		return nil, err
	}
	var answer struct {
		Server string `json:"server"`
		Tools  []Pin  `json:"tools"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, malformed("%w", err)
	}
	if answer.Server != server || answer.Tools == nil {
		return nil, malformed("it has no pins of the server %.80q", server)
	}
	for _, pin := range answer.Tools {
		if len(pin.SHA256) != 64 {
			return nil, malformed("the pin of the tool %.80q has the hash %.80q", pin.Name, pin.SHA256)
		}
	}
	return answer.Tools, nil
}
