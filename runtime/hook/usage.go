package hook

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// MaxTranscript is the largest transcript that is read, in bytes.
const MaxTranscript = 64 << 20

// Usage is what a task has used of a model so far.
type Usage struct {
	Provider, Model string
	Input, Output   int64 // tokens, cached ones included
}

// json is the value of metadata.model_usage.
func (u *Usage) json() []byte {
	var o object
	o.add("provider", u.Provider)
	o.add("model", u.Model)
	for _, part := range []struct {
		name string
		n    int64
	}{{"input_tokens", u.Input}, {"output_tokens", u.Output}, {"total_tokens", u.Input + u.Output}} {
		o = append(o, member{part.name, strconv.AppendInt(nil, part.n, 10)})
	}
	return o.json()
}

// Transcripts are the places of the transcript of the event's task, the likeliest first; none where the host's transcript is
// not known to have usage. A subagent has a task and a transcript of its own, beside the session's.
func (e *Event) Transcripts() []string {
	switch {
	case e.Host == nil || !e.Host.Transcript || e.Transcript == "":
		return nil
	case e.Agent == "":
		return []string{e.Transcript}
	case e.Host.Name != ClaudeCode || !IsTaskID(e.Agent):
		return nil
	}
	name := "agent-" + e.Agent + ".jsonl"
	return []string{
		filepath.Join(strings.TrimSuffix(e.Transcript, ".jsonl"), "subagents", name),
		filepath.Join(filepath.Dir(e.Transcript), name),
	}
}

// errTranscript says that usage cannot be told from a transcript.
var errTranscript = errors.New("the transcript has a line that cannot be read")

// ReadUsage adds up the usage in a transcript of the host. A last line without an end is still being written, and is not read.
// It reads each line once, whatever the length of the transcript; one of more than [MaxTranscript] is an error.
func ReadUsage(host string, transcript io.Reader) (*Usage, error) {
	limited := &io.LimitedReader{R: transcript, N: MaxTranscript + 1}
	lines := bufio.NewReaderSize(limited, 256<<10)
	counts := &counter{last: map[string]Usage{}}
	for {
		line, err := readLine(lines)
		switch {
		case limited.N <= 0:
			return nil, errors.New("the transcript has more than 64 MiB")
		case errors.Is(err, io.EOF):
			return counts.usage(host), nil
		case err != nil:
			return nil, err
		}
		if host == Codex {
			err = counts.addCodex(line)
		} else {
			err = counts.addClaude(line)
		}
		if err != nil {
			return nil, err
		}
	}
}

// readLine returns the next line with its end. A line without one is not returned.
func readLine(from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = from.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

// counter adds up the lines of a transcript.
type counter struct {
	last  map[string]Usage // by the message's id: a message of several parts has several lines
	most  Usage            // of Codex, whose lines are cumulative
	model string
}

// tokens are the counts of both hosts' lines.
type tokens struct {
	Input   int64 `json:"input_tokens"`
	Created int64 `json:"cache_creation_input_tokens"`
	Read    int64 `json:"cache_read_input_tokens"`
	Output  int64 `json:"output_tokens"`
	Both    int64 `json:"total_tokens"`
}

// addClaude reads one line of Claude Code's transcript.
func (c *counter) addClaude(line []byte) error {
	if !bytes.Contains(line, []byte(`"usage"`)) {
		return nil
	}
	var entry struct {
		Type      string `json:"type"`
		RequestID string `json:"requestId"`
		Message   struct {
			ID    string  `json:"id"`
			Model string  `json:"model"`
			Usage *tokens `json:"usage"`
		} `json:"message"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return errTranscript
	}
	used := entry.Message.Usage
	if entry.Type != "assistant" || used == nil {
		return nil
	}
	if min(used.Input, used.Created, used.Read, used.Output) < 0 {
		return errTranscript
	}
	id := entry.Message.ID
	if id == "" {
		id = strconv.Itoa(len(c.last)) + "?"
	}
	before := c.last[id]
	c.last[id] = Usage{Input: max(before.Input, used.Input+used.Created+used.Read), Output: max(before.Output, used.Output)}
	c.model = entry.Message.Model
	return nil
}

// addCodex reads one line of Codex' transcript.
func (c *counter) addCodex(line []byte) error {
	if !bytes.Contains(line, []byte(`"total_token_usage"`)) && !bytes.Contains(line, []byte(`"turn_context"`)) {
		return nil
	}
	var entry struct {
		Payload struct {
			Type  string `json:"type"`
			Model string `json:"model"`
			Info  *struct {
				Total tokens `json:"total_token_usage"`
			} `json:"info"`
		} `json:"payload"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return errTranscript
	}
	if entry.Type == "turn_context" && entry.Payload.Model != "" {
		c.model = entry.Payload.Model
	}
	if entry.Payload.Type != "token_count" || entry.Payload.Info == nil {
		return nil
	}
	total := entry.Payload.Info.Total
	if min(total.Input, total.Output, total.Both) < 0 {
		return errTranscript
	}
	c.most.Input, c.most.Output = max(c.most.Input, total.Input, total.Both-total.Output), max(c.most.Output, total.Output)
	return nil
}

// usage returns the sum; before the first answer of the model that is zero.
func (c *counter) usage(host string) *Usage {
	sum := c.most
	for _, one := range c.last {
		sum.Input += one.Input
		sum.Output += one.Output
	}
	sum.Model, sum.Provider = c.model, "anthropic"
	if host == Codex {
		sum.Provider = "openai"
	}
	return &sum
}
