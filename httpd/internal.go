package httpd

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/decision"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/service"
	"bailiff/vm/errcode"
)

// Internal serves what the production service tells the test environment: the record and policy of a key, by the hash of
// its secret (specification, test-environment.1). It knows no keys: its listener has to demand a client
// certificate.
type Internal struct {
	authority *decision.Decider
	confirm   commit.Confirmer // see Config.Confirm
	log       *slog.Logger
	http      *fasthttp.Server
}

// NewInternal returns the server of an authority's records. confirm is that of Config.
func NewInternal(a *decision.Decider, confirm commit.Confirmer, log *slog.Logger) *Internal {
	s := &Internal{authority: a, confirm: confirm, log: log}
	s.http = newHTTP(log, guard(log, s.route), Timeouts{})
	return s
}

// Serve answers on a listener until Shutdown.
func (s *Internal) Serve(listener net.Listener) error { return s.http.Serve(listener) }

// Shutdown finishes the requests in flight.
func (s *Internal) Shutdown(ctx context.Context) error { return s.http.ShutdownWithContext(ctx) }

// route answers GET /v1/mirror/{hash}, of which the hash is 64 lower-case hexadecimal digits.
func (s *Internal) route(ctx *fasthttp.RequestCtx) {
	text, ok := bytes.CutPrefix(pathOf(&ctx.Request.Header), []byte("/v1/mirror/"))
	var hash [32]byte
	if !ok || len(text) != hex.EncodedLen(len(hash)) || !bytes.Equal(text, bytes.ToLower(text)) {
		writeFailure(ctx, &service.Failure{Code: errcode.NotFound, Message: "there is no such route"})
		return
	}
	if _, err := hex.Decode(hash[:], text); err != nil || !ctx.IsGet() {
		writeFailure(ctx, &service.Failure{Code: errcode.NotFound, Message: "there is no such route"})
		return
	}
	seen := begin(s.confirm)
	record, fault := s.authority.MirrorRecord(ctx, hash)
	if refused := seen.fault(); refused != nil { // that there is no such key is remembered by who asks
		fault = refused
	}
	if fault != nil {
		writeFailure(ctx, fault)
		return
	}
	body, err := json.Marshal(record)
	if err != nil {
		s.log.Error("a record could not be written", "error", err)
		writeFailure(ctx, &service.Failure{Code: errcode.Internal, Message: "the record could not be written"})
		return
	}
	writeJSON(ctx, fasthttp.StatusOK, body)
	ctx.Response.Header.SetCanonical(cacheControl, noStore)
}
