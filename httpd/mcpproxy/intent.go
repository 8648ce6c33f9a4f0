package mcpproxy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/runtime/jcs"
)

// An Intent is what the service is asked about.
type Intent struct {
	Action   string
	TaskID   string
	Metadata json.RawMessage
	TxCommit string // the SHA-256 of the RFC 8785 form of the intent, in hexadecimal digits
}

// A Decision is what the service said about an intent.
type Decision struct {
	Status      string // ALLOWED, DENIED or PENDING
	Code        string // error_code
	Rule        string // matched_rule
	Message     string
	HoldID      string
	ApprovalURL string // where approvers decide the hold; empty where there are none
	PolicyHash  string
	// Attestation is the service's signed word on an intent that is allowed; empty otherwise.
	Attestation string
	// Unreachable says that there is no decision: the service could not be asked, or its answer could not be read.
	Unreachable bool
}

// Decide asks the service, by a test-run where nothing may be counted. A failure is a decision with Unreachable, or one
// with Status DENIED and the code of the service's refusal.
type Decide func(ctx context.Context, intent *Intent, testRun bool) Decision

// The statuses of a decision.
const (
	statusAllowed = "ALLOWED"
	statusDenied  = "DENIED"
	statusPending = "PENDING"
	statusError   = "ERROR" // of a refusal without a decision
)

// intentOf makes the intent of a request. Everything that is forwarded is in it, except _meta: that belongs to the
// protocol, and changes with every request.
func (g *Guard) intentOf(m *message, row *method, tool, definition string) (*Intent, error) {
	text := appendMember([]byte{'{'}, "serverId", g.Server)
	if tool == "" {
		text = appendMember(append(text, ','), "toolName", strings.TrimPrefix(row.action(g.Server), "mcp."+g.Server+"."))
		text = appendMembers(append(text, `,"arguments":`...), m.params, "_meta")
		return commit(row.action(g.Server), g.TaskID, append(text, '}'))
	}
	text = appendMember(append(text, ','), "toolName", tool)
	if arguments, ok := valueOf(m.params, "arguments"); ok {
		text = append(append(text, `,"arguments":`...), arguments...)
	}
	if definition != "" {
		text = appendMember(append(text, ','), "definitionSha256", definition)
	}
	if rest := appendMembers(nil, m.params, "_meta", "name", "arguments"); len(rest) > len("{}") {
		text = append(append(text, `,"request":`...), rest...)
	}
	// Actions are compared in lower case.
	return commit("mcp."+g.Server+"."+strings.ToLower(tool), g.TaskID, append(text, '}'))
}

// commit computes the commitment of an intent.
func commit(action, taskID string, metadata []byte) (*Intent, error) {
	text := appendMember([]byte{'{'}, "action", action)
	if taskID != "" {
		text = appendMember(append(text, ','), "task_id", taskID)
	}
	text = append(append(append(text, `,"metadata":`...), metadata...), '}')
	form := jsontext.Value(text)
	if err := form.Canonicalize(); err != nil {
		return nil, fmt.Errorf("the intent has no canonical form: %w", err)
	}
	sum := sha256.Sum256(form)
	return &Intent{Action: action, TaskID: taskID, Metadata: metadata, TxCommit: hex.EncodeToString(sum[:])}, nil
}

// appendMember appends a member whose value is a string.
func appendMember(dst []byte, name, value string) []byte {
	dst = jcs.AppendString(dst, name)
	return jcs.AppendString(append(dst, ':'), value)
}

// appendMembers appends an object of the members but those that are named.
func appendMembers(dst []byte, members []member, but ...string) []byte {
	dst = append(dst, '{')
	first := true
next:
	for i := range members {
		for _, name := range but {
			if members[i].name == name {
				continue next
			}
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(jcs.AppendString(dst, members[i].name), ':')
		dst = append(dst, members[i].value...)
	}
	return append(dst, '}')
}
