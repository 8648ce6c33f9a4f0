package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/authority"
	"bailiff/runtime/ledger"
)

// Admin serves the operator's own commands while the service holds the ledger. It knows no keys: whoever can
// open its socket, which only the service's user can, may do everything.
type Admin struct {
	admin *authority.Admin
	http  *fasthttp.Server
}

// adminError is the body of a refusal.
type adminError struct {
	Message string `json:"message"`
}

// NewAdmin returns the server of an admin.
func NewAdmin(admin *authority.Admin, log *slog.Logger) *Admin {
	s := &Admin{admin: admin}
	s.http = newHTTP(log, guard(log, s.route))
	return s
}

// Serve answers on a listener, which should be a Unix socket of mode 0600, until Shutdown.
func (s *Admin) Serve(listener net.Listener) error { return s.http.Serve(listener) }

// Shutdown finishes what is in flight.
func (s *Admin) Shutdown(ctx context.Context) error { return s.http.ShutdownWithContext(ctx) }

// The admin routes: GET and POST /keys, DELETE /keys/{id}, GET /holds.
func (s *Admin) route(ctx *fasthttp.RequestCtx) {
	path, method := string(ctx.Path()), string(ctx.Method())
	id, one := strings.CutPrefix(path, "/keys/")
	switch {
	case path == "/keys" && method == "GET":
		reply(ctx, fasthttp.StatusOK)(s.admin.Keys(ctx))
	case path == "/keys" && method == "POST":
		s.createKey(ctx)
	case one && method == "DELETE":
		reply(ctx, fasthttp.StatusOK)(s.admin.RevokeKey(ctx, id))
	case path == "/holds" && method == "GET":
		reply(ctx, fasthttp.StatusOK)(s.admin.Holds(ctx))
	default:
		replyError(ctx, fasthttp.StatusNotFound, "there is no such admin route")
	}
}

func (s *Admin) createKey(ctx *fasthttp.RequestCtx) {
	var request authority.NewKey
	if err := json.Unmarshal(ctx.PostBody(), &request); err != nil {
		replyError(ctx, fasthttp.StatusBadRequest, err.Error())
		return
	}
	reply(ctx, fasthttp.StatusCreated)(s.admin.CreateKey(ctx, request))
}

// reply returns a function that writes what an admin call returned.
func reply(ctx *fasthttp.RequestCtx, status int) func(value any, err error) {
	return func(value any, err error) {
		if err != nil {
			replyError(ctx, adminStatus(err), err.Error())
			return
		}
		writeValue(ctx, status, value)
	}
}

func replyError(ctx *fasthttp.RequestCtx, status int, message string) {
	writeValue(ctx, status, adminError{message})
}

func writeValue(ctx *fasthttp.RequestCtx, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		status, body = fasthttp.StatusInternalServerError, []byte(`{"message":"the answer could not be written"}`)
	}
	writeJSON(ctx, status, body)
}

// adminStatus maps the ledger's errors to HTTP.
func adminStatus(err error) int {
	for _, row := range []struct {
		kind   error
		status int
	}{
		{ledger.ErrInvalid, fasthttp.StatusBadRequest},
		{ledger.ErrNotFound, fasthttp.StatusNotFound},
		{ledger.ErrKeyRevoked, fasthttp.StatusConflict},
		{ledger.ErrKeyExists, fasthttp.StatusConflict},
		{ledger.ErrUnavailable, fasthttp.StatusServiceUnavailable},
		{ledger.ErrUnknown, fasthttp.StatusServiceUnavailable},
	} {
		if errors.Is(err, row.kind) {
			return row.status
		}
	}
	return fasthttp.StatusInternalServerError
}
