package mcpproxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// An event is one event of a stream, and the lines that it was written in.
type event struct {
	raw  []byte // with the blank line that ends it
	id   []byte // its line id, empty where there is none
	data []byte // the lines of data, joined
}

// eachEvent calls do with every event of a stream. An event that the stream breaks off in is dropped. A carriage return
// that does not end a line is refused: some readers take it for a line's end and others do not.
func eachEvent(r io.Reader, do func(*event) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	e, several := new(event), false
	for {
		line, err := rawLine(lines, maxMessage+maxErrorBody-len(e.raw))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e.raw = append(e.raw, line...)
		text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
		if bytes.IndexByte(text, '\r') >= 0 || bytes.HasPrefix(text, []byte("\ufeff")) {
			return errors.New("a line of the stream can be read in two ways")
		}
		if len(text) == 0 {
			if err := do(e); err != nil {
				return err
			}
			e, several = new(event), false
			continue
		}
		name, value, _ := bytes.Cut(text, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			if several {
				e.data = append(e.data, '\n')
			}
			e.data, several = append(e.data, value...), true
		case "id":
			e.id = line
		}
	}
}

// rawLine reads a line with its end, of at most so many bytes.
func rawLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, fmt.Errorf("an event has more than %d bytes", maxMessage)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// events passes a stream on, event by event: the server's own bytes where the message in it may go as it is.
func (x *exchange) events(body io.Reader) {
	out := http.NewResponseController(x.w)
	x.w.WriteHeader(http.StatusOK)
	_ = out.Flush()
	err := eachEvent(body, func(e *event) error {
		if _, err := x.w.Write(x.event(e)); err != nil {
			return err
		}
		return out.Flush()
	})
	if err != nil {
		x.h.guard.Log("a stream was ended: %v", err)
	}
	if x.m == nil || x.m.kind != isRequest {
		return
	}
	if resumable := x.r.Header.Get(headerSession) != "" && err == nil; resumable {
		return // another stream may bring the answer
	}
	if x.session.end(x.m.id) != nil {
		r := refuse(codeServerGone, "the server's stream ended before the answer came; what it did is not known")
		r.status = statusError
		fmt.Fprintf(x.w, "data: %s\n\n", r.fault(x.m.rawID))
		_ = out.Flush()
	}
}

// event is what a client gets of an event.
func (x *exchange) event(e *event) []byte {
	if len(bytes.TrimSpace(e.data)) == 0 {
		return e.raw // a comment, or an event that only says its id
	}
	kept := append(bytes.Clone(e.id), '\n') // what is dropped still counts for who resumes the stream
	m, err := readMessage(e.data, false)
	if err != nil {
		x.h.guard.Log("dropped an event of the server: %v", err)
		return kept
	}
	toClient, toServer := x.session.fromServer(m)
	if toServer != nil {
		go x.reply(toServer)
	}
	switch {
	case toClient == nil:
		return kept
	case bytes.Equal(toClient, m.raw):
		return e.raw
	}
	return fmt.Appendf(bytes.Clone(e.id), "data: %s\n\n", toClient)
}

// replyTime bounds an answer of the proxy's own to the server.
const replyTime = 10 * time.Second

// reply answers a request of the server that does not reach the client.
func (x *exchange) reply(text []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.r.Context()), replyTime)
	defer cancel()
	request, err := x.upstreamRequest(ctx, http.MethodPost, text)
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for _, name := range []string{headerMethod, headerName, headerEvent} {
		request.Header.Del(name)
	}
	if response, err := x.h.client.Do(request); err == nil {
		response.Body.Close()
	}
}

// stream serves GET, by which a client of the older revision gets what the server says on its own account, and DELETE,
// which ends its session.
func (h *Handler) stream(w http.ResponseWriter, r *http.Request) {
	x := &exchange{h: h, w: w, r: r, session: h.sessions.of(h, r, nil)}
	request, err := x.upstreamRequest(r.Context(), r.Method, nil)
	if err != nil {
		x.gone(err)
		return
	}
	response, err := h.client.Do(request)
	if err != nil {
		x.gone(err)
		return
	}
	defer response.Body.Close()
	x.pass(response)
}
