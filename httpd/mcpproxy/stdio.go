package mcpproxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"bailiff/runtime/jcs"
)

// ServeStdio runs a server as a child process and is between its standard streams and a client's. It returns when the
// client closes its end, when ctx ends, or when the server ends; then every request that is not answered gets an error.
// The server's standard error and environment are what command says.
func ServeStdio(ctx context.Context, g *Guard, command *exec.Cmd, in io.Reader, out io.Writer) error {
	toServer, err := command.StdinPipe()
	if err != nil {
		return err
	}
	fromServer, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	p := newPipe(g, toServer, out)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended, left := make(chan error, 1), make(chan error, 1)
	read := make(chan struct{}) // closed after the last message of the server
	go func() { defer close(read); ended <- p.pumpServer(fromServer) }()
	go func() { left <- p.pumpClient(ctx, in) }()
	select {
	case err = <-left: // requests under way are still answered
		p.idle(drainTime)
	case err = <-ended:
		if err == nil {
			err = errors.New("the server closed its standard output")
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	cancel()
	for _, answer := range p.session.fail(codeServerGone, "the server ended before it answered") {
		_ = p.toClient(answer) // it may have left
	}
	return errors.Join(err, stop(command, toServer, read))
}

// Times that a server gets.
const (
	drainTime = 5 * time.Second // to answer what is under way when the client leaves
	exitTime  = 3 * time.Second // to end by itself, and once more to obey a signal
)

// stop ends the server as the protocol says: by closing its standard input, then by a signal, then by force. What it wrote
// until then is read before its output is closed, unless a process that it leaves behind keeps that open.
func stop(command *exec.Cmd, toServer io.Closer, read <-chan struct{}) error {
	_ = toServer.Close()
	done := make(chan struct{})
	go func() {
		_, _ = command.Process.Wait() // how it ended is its own business
		select {
		case <-read:
		case <-time.After(exitTime):
		}
		_ = command.Wait() // closes the pipes
		close(done)
	}()
	for _, end := range []func() error{func() error { return interrupt(command.Process) }, command.Process.Kill} {
		select {
		case <-done:
			return nil
		case <-time.After(exitTime):
			_ = end()
		}
	}
	select {
	case <-done:
		return nil
	case <-time.After(exitTime):
		return fmt.Errorf("the server (process %d) does not end", command.Process.Pid)
	}
}

// A pipe is a client and a server that talk in lines.
type pipe struct {
	session *session

	clientMu sync.Mutex
	client   io.Writer
	serverMu sync.Mutex
	server   io.Writer

	judging errgroup.Group // of requests that have been read; each writes its own answer
	mu      sync.Mutex
	own     map[string]chan *message // the proxy's own requests to the server, by id
	shown   string                   // the policy under which the client got its list of tools
	initial bool                     // the client did the handshake of revisions before 2026-07-28
}

func newPipe(g *Guard, server, client io.Writer) *pipe {
	return &pipe{session: g.newSession("", new(listing)), client: client, server: server, own: map[string]chan *message{}}
}

// pumpClient judges what the client says until it ends. Requests are judged side by side.
func (p *pipe) pumpClient(ctx context.Context, in io.Reader) error {
	p.judging.SetLimit(maxUnderWay)
	err := eachLine(in, func(line []byte, tooLong bool) error {
		m, err := readLine(line, tooLong, true)
		if err != nil {
			r := unreadable(err)
			p.session.g.Log("the client's message was refused: %v", err)
			return p.toClient(r.fault(nil))
		}
		if m.kind != isRequest || p.sure(m) {
			return p.settle(p.session.fromClient(ctx, m, p.listTools))
		}
		p.judging.Go(func() error {
			_ = p.settle(p.session.fromClient(ctx, m, p.listTools)) // a write that fails ends the pumps too
			return nil
		})
		return nil
	})
	_ = p.judging.Wait()
	return err
}

// sure reports whether a request passes without a question to the service: it keeps its place in the client's order.
func (p *pipe) sure(m *message) bool {
	row := find(clientRequests, m.method)
	if row != nil && row.name == "initialize" {
		p.mu.Lock()
		p.initial = true
		p.mu.Unlock()
	}
	return row == nil || row.treatment == passes
}

// settle sends a message where its verdict says.
func (p *pipe) settle(v verdict) error {
	var err error
	switch {
	case v.forward != nil:
		err = p.toServer(v.forward)
	case v.answer != nil:
		err = p.toClient(v.answer)
	}
	return errors.Join(err, p.announce())
}

// announce tells the client to list the tools again where they were filtered for a policy that is not in force any more.
func (p *pipe) announce() error {
	if !p.session.g.HideDenied {
		return nil
	}
	policy := p.session.g.policy.Load()
	p.mu.Lock()
	stale := policy != nil && p.shown != "" && p.shown != *policy && p.initial
	if policy != nil {
		p.shown = *policy
	}
	p.mu.Unlock()
	if !stale {
		return nil
	}
	p.session.g.hidden.forget()
	return p.toClient(listChanged())
}

// pumpServer judges what the server says until it ends.
func (p *pipe) pumpServer(out io.Reader) error {
	return eachLine(out, func(line []byte, tooLong bool) error {
		if tooLong {
			return fmt.Errorf("the server sent a message of more than %d bytes", maxMessage)
		}
		m, err := readLine(line, false, false)
		if err != nil {
			p.session.g.Log("dropped a line of the server's standard output: %v", err)
			return nil
		}
		if m.kind == isResponse && p.answered(m) {
			return nil
		}
		toClient, toServer := p.session.fromServer(m)
		if toServer != nil {
			if err := p.toServer(toServer); err != nil {
				return err
			}
		}
		if toClient != nil {
			p.show()
			return p.toClient(toClient)
		}
		return nil
	})
}

// show notes the policy under which the client gets its first list of tools, before it has it: a decision under the next
// policy may come at any time after that.
func (p *pipe) show() {
	if policy := p.session.g.policy.Load(); policy != nil {
		p.mu.Lock()
		if p.shown == "" {
			p.shown = *policy
		}
		p.mu.Unlock()
	}
}

// listTools is the proxy's own request for a page of tools/list.
func (p *pipe) listTools(ctx context.Context, params jsontext.Value) (jsontext.Value, error) {
	id := jcs.AppendString(nil, "bailiff-"+rand.Text())
	key, _ := idKey(id)
	answer := make(chan *message, 1)
	p.mu.Lock()
	p.own[key] = answer
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.own, key)
		p.mu.Unlock()
	}()
	if err := p.toServer(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"tools/list","params":%s}`, id, params)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	select {
	case m := <-answer:
		return resultOf(m)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// listTime is how long a server may take for a page of its tools.
const listTime = 30 * time.Second

// resultOf is the result of a response.
func resultOf(m *message) (jsontext.Value, error) {
	if m.result == nil {
		return nil, errors.New("the server answered with an error")
	}
	return m.result, nil
}

// answered takes the response to a request of the proxy's own.
func (p *pipe) answered(m *message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := p.own[m.id]
	delete(p.own, m.id)
	if answer != nil {
		answer <- m
	}
	return answer != nil
}

func (p *pipe) toClient(text []byte) error { return writeLine(&p.clientMu, p.client, text) }
func (p *pipe) toServer(text []byte) error { return writeLine(&p.serverMu, p.server, text) }

// writeLine writes one message at once.
func writeLine(mu *sync.Mutex, w io.Writer, text []byte) error {
	mu.Lock()
	defer mu.Unlock()
	line := make([]byte, 0, len(text)+1)
	_, err := w.Write(append(append(line, text...), '\n'))
	return err
}

// idle waits until the server has answered everything, for a time.
func (p *pipe) idle(most time.Duration) {
	deadline := time.After(most)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for p.session.waiting() {
		select {
		case <-tick.C:
		case <-deadline:
			return
		}
	}
}

// waiting reports whether the server owes an answer.
func (s *session) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.underWay {
		if u.forwarded && u.row.name != "subscriptions/listen" {
			return true
		}
	}
	return false
}

// readLine reads the message of one line. A line break inside, which JSON takes for white space, would be two messages to
// some readers.
func readLine(line []byte, tooLong, folds bool) (*message, error) {
	if tooLong {
		return nil, fmt.Errorf("the message has more than %d bytes; at most that many are allowed", maxMessage)
	}
	if bytes.ContainsRune(line, '\r') {
		return nil, errors.New("the message contains a carriage return; write it on one line")
	}
	return readMessage(line, folds)
}

// eachLine calls do with every line that is not blank. Of a line of more than maxMessage bytes nothing is kept.
func eachLine(r io.Reader, do func(line []byte, tooLong bool) error) error {
	buffered := bufio.NewReaderSize(r, 64<<10)
	for {
		line, tooLong, err := nextLine(buffered)
		if len(bytes.TrimSpace(line)) > 0 || tooLong {
			if err := do(line, tooLong); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// nextLine reads a line without its end. The line is the caller's.
func nextLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
		}
		if len(line) > maxMessage+len("\r\n") {
			line, tooLong = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), tooLong, err
		}
	}
}
