package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/approvals"
	"bailiff/runtime/ledger/slots"
)

// asked has an admin answer a request.
func (s *Admin) asked(method, path, body string, passed bool) (status int, answer string, did bool) {
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, nil, nil)
	ctx.Request.Header.SetMethod(method)
	ctx.Request.Header.SetRequestURI(path)
	ctx.Request.SetBodyString(body)
	if did = true; passed {
		did = s.passed(&ctx, path)
	} else {
		s.route(&ctx)
	}
	return ctx.Response.StatusCode(), string(ctx.Response.Body()), did
}

// TestPassedCommands: a command about approvers is answered by the instance that has their pages, and says what came of it where that one does not answer.
func TestPassedCommands(t *testing.T) {
	w := newWorld(t)
	for _, row := range []struct {
		at     string
		err    error
		status int
		says   string
	}{
		{"b", nil, 201, "as b says it"},
		{"", slots.ErrElsewhere, 503, "no instance has the approvers' pages"},
		{"b", fmt.Errorf("%w: refused", slots.ErrElsewhere), 503, "nothing was done there"},
		{"b", errors.New("no answer"), 503, "is unknown"},
	} {
		s := NewAdmin(w.admin, w.confirm, slog.New(slog.DiscardHandler))
		s.GiveApprovals(new(approvals.Approvals), func() (string, bool) { return row.at, false }, func(_ context.Context, method, path string, body []byte) (int, []byte, error) {
			if method != "POST" || path != enrolmentsPath || string(body) != `{"approver":"alice"}` {
				t.Errorf("%s %s %s is passed on", method, path, body)
			}
			return 201, []byte(`"as b says it"`), row.err
		})
		if status, answer, _ := s.asked("POST", enrolmentsPath, `{"approver":"alice"}`, false); status != row.status || !strings.Contains(answer, row.says) {
			t.Errorf("at %q with %v: %d %s", row.at, row.err, status, answer)
		}
		if _, _, did := s.asked("POST", enrolmentsPath, `{"approver":"alice"}`, true); did {
			t.Error("a command is taken where the pages are not")
		}
	}
	s := NewAdmin(w.admin, w.confirm, slog.New(slog.DiscardHandler))
	s.GiveApprovals(new(approvals.Approvals), func() (string, bool) { return "", true }, nil)
	for _, path := range []string{"/keys", "/halt", "/operator", approversPath + "/x", "/"} {
		if _, _, did := s.asked("GET", path, "", true); did {
			t.Errorf("%s is answered for another instance", path)
		}
	}
	if status, _, did := s.asked("POST", enrolmentsPath, "{", true); !did || status != 400 {
		t.Errorf("a body that is no JSON: %d, %t", status, did)
	}
}
