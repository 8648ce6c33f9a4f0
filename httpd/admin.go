package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/accounts"
	"bailiff/runtime/approvals"
	"bailiff/runtime/decision"
	"bailiff/runtime/eventjson"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	"bailiff/runtime/ledger/slots"
)

// Admin serves the operator's own commands while the service holds the ledger. It knows no keys: a program that
// can open its socket may do everything, and only the service's user can open it.
type Admin struct {
	admin     *decision.Admin
	http      *fasthttp.Server
	confirm   commit.Confirmer                    // see Config.Confirm
	console   *OperatorConsole                    // nil: the service has none
	approvals *approvals.Approvals                // nil: the service has none
	pagesAt   func() (instance string, here bool) // with approvals
	pass      passCommand                         // nil: there are no other instances
}

// A passCommand takes a command to the instance that has the approvers' pages ([peers.Passing.Command]).
type passCommand = func(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error)

// adminError is the body of a refusal.
type adminError struct {
	Message string `json:"message"`
}

// NewAdmin returns the server of an admin.
func NewAdmin(admin *decision.Admin, confirm commit.Confirmer, log *slog.Logger) *Admin {
	s := &Admin{admin: admin, confirm: confirm}
	s.http = newHTTP(log, guard(log, s.route), Timeouts{})
	return s
}

// Serve answers on a listener, which should be a Unix socket of mode 0600, until Shutdown.
func (s *Admin) Serve(listener net.Listener) error { return s.http.Serve(listener) }

// Shutdown finishes the requests in flight.
func (s *Admin) Shutdown(ctx context.Context) error { return s.http.ShutdownWithContext(ctx) }

// The paths of commands about approvers, which need the approvers' pages.
const (
	approversPath  = "/approvers"
	enrolmentsPath = approversPath + "/enrolments"
)

// adminRoutes is the table of the admin's routes. A path that ends in a slash is followed by one segment, with suffix
// behind it.
var adminRoutes = []struct {
	method, path, suffix string
	handle               func(s *Admin, ctx *fasthttp.RequestCtx, segment string)
}{
	{"GET", "/keys", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) { reply(ctx, fasthttp.StatusOK)(s.admin.Keys(ctx)) }},
	{"POST", "/keys", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) { s.createKey(ctx) }},
	{"DELETE", "/keys/", "", func(s *Admin, ctx *fasthttp.RequestCtx, id string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.RevokeKey(ctx, id))
	}},
	{"PUT", "/keys/", "/plan", (*Admin).setPlan},
	{"PUT", "/keys/", "/scopes", (*Admin).changeScopes},
	{"PUT", "/keys/", "/full-grant", func(s *Admin, ctx *fasthttp.RequestCtx, id string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.GrantAll(ctx, id))
	}},
	{"GET", "/holds", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.AllHolds(ctx))
	}},
	{"GET", "/holds/", "", func(s *Admin, ctx *fasthttp.RequestCtx, id string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.FindHold(ctx, id))
	}},
	{"POST", "/holds/", "/resolution", func(s *Admin, ctx *fasthttp.RequestCtx, id string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.Resolve(ctx, string(ctx.QueryArgs().Peek("key")), id, ctx.PostBody()))
	}},
	{"GET", "/webhooks/", "", func(s *Admin, ctx *fasthttp.RequestCtx, key string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.WebhooksOf(ctx, key))
	}},
	{"POST", "/webhooks/", "", func(s *Admin, ctx *fasthttp.RequestCtx, key string) {
		reply(ctx, fasthttp.StatusCreated)(s.admin.AddWebhookOf(ctx, key, ctx.PostBody()))
	}},
	{"DELETE", "/webhooks/", "", func(s *Admin, ctx *fasthttp.RequestCtx, key string) {
		reply(ctx, fasthttp.StatusOK)(struct{}{}, s.admin.RemoveWebhookOf(ctx, key, string(ctx.QueryArgs().Peek("id"))))
	}},
	{"POST", "/webhooks/", "/enable", func(s *Admin, ctx *fasthttp.RequestCtx, key string) {
		reply(ctx, fasthttp.StatusOK)(struct{}{}, s.admin.EnableWebhookOf(ctx, key, string(ctx.QueryArgs().Peek("id"))))
	}},
	{"GET", "/usage", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.Usage(ctx, string(ctx.QueryArgs().Peek("month"))))
	}},
	{"GET", "/evidence/", "", func(s *Admin, ctx *fasthttp.RequestCtx, id string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.Evidence(ctx, id, string(ctx.QueryArgs().Peek("key"))))
	}},
	{"GET", "/backup", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) {
		after, err := strconv.ParseUint(string(ctx.QueryArgs().Peek("after")), 10, 64)
		if err != nil {
			replyError(ctx, fasthttp.StatusBadRequest, "after has to be the LSN of a record, or 0")
			return
		}
		reply(ctx, fasthttp.StatusOK)(s.admin.Backup(ctx, after))
	}},
	{"GET", "/backup/base", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) {
		of, err := strconv.ParseUint(string(ctx.QueryArgs().Peek("of")), 10, 64)
		at, bad := strconv.ParseInt(string(ctx.QueryArgs().Peek("at")), 10, 64)
		if err != nil || bad != nil {
			replyError(ctx, fasthttp.StatusBadRequest, "of has to be the LSN of a record, and at a number of bytes")
			return
		}
		reply(ctx, fasthttp.StatusOK)(s.admin.BackupBase(ctx, of, at))
	}},
	{"GET", "/limits/", "", func(s *Admin, ctx *fasthttp.RequestCtx, id string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.Limits(ctx, id))
	}},
	{"GET", "/deployments/", "", func(s *Admin, ctx *fasthttp.RequestCtx, id string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.Deployments(ctx, id))
	}},
	{"GET", "/halt", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.HaltOf(ctx, string(ctx.QueryArgs().Peek("key"))))
	}},
	{"POST", "/halt", "", (*Admin).halt},
	{"GET", "/operator", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.OperatorView(ctx))
	}},
	{"POST", "/operator/rotation", "", (*Admin).rotate},
	{"POST", "/clock/accept", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) {
		reply(ctx, fasthttp.StatusOK)(s.admin.AcceptClock(ctx))
	}},
	{"GET", approversPath, "", (*Admin).approvers},
	{"POST", approversPath, "", (*Admin).stateApprover},
	{"POST", enrolmentsPath, "", (*Admin).enrolApprover},
	{"POST", "/console/code", "", (*Admin).signIn},
	{"POST", "/console/sign-out", "", (*Admin).signOut},
	{"GET", "/pins", "", (*Admin).pins},
	{"POST", "/pins/accept", "", (*Admin).acceptTool},
	{"POST", "/pins/forget", "", (*Admin).forgetTools},
	{"GET", "/events", "", func(s *Admin, ctx *fasthttp.RequestCtx, _ string) { s.events(ctx) }},
}

func (s *Admin) route(ctx *fasthttp.RequestCtx) {
	path := string(pathOf(&ctx.Request.Header))
	for i := range adminRoutes {
		row := &adminRoutes[i]
		segment, under := strings.CutPrefix(path, row.path)
		segment, ends := strings.CutSuffix(segment, row.suffix)
		fits := segment == ""
		if strings.HasSuffix(row.path, "/") {
			fits = segment != "" && !strings.Contains(segment, "/")
		}
		if under && ends && fits && row.method == string(ctx.Method()) {
			seen := begin(s.confirm)
			row.handle(s, ctx, segment)
			confirmAdmin(ctx, seen)
			return
		}
	}
	replyError(ctx, fasthttp.StatusNotFound, "there is no such admin route")
}

// confirmAdmin replaces an answer of the admin socket where it must not be told.
func confirmAdmin(ctx *fasthttp.RequestCtx, seen confirmation) {
	if fault := seen.fault(); fault != nil {
		ctx.Response.Reset()
		replyError(ctx, fasthttp.StatusServiceUnavailable, fault.Message)
	}
}

func (s *Admin) halt(ctx *fasthttp.RequestCtx, _ string) {
	var request accounts.HaltRequest
	if !readRequest(ctx, &request) {
		return
	}
	reply(ctx, fasthttp.StatusOK)(s.admin.Halt(ctx, request))
}

func (s *Admin) rotate(ctx *fasthttp.RequestCtx, _ string) {
	var request accounts.RotationRequest
	if !readRequest(ctx, &request) {
		return
	}
	reply(ctx, fasthttp.StatusOK)(s.admin.Rotate(ctx, request))
}

// GiveApprovals has the admin socket take statements about approvers. at returns the name of the instance that has the approvers'
// pages, "" where none is known, or that this one has. pass takes what needs the pages to another one; nil where there is none. It is called before
// Serve.
func (s *Admin) GiveApprovals(a *approvals.Approvals, at func() (instance string, here bool), pass passCommand) {
	s.approvals, s.pagesAt, s.pass = a, at, pass
}

// Answers has the admin answer the commands about approvers that other instances pass on.
func (s *Admin) Answers(commands *Commands) {
	answer := s.passed
	commands.answer.Store(&answer)
}

// passed answers a command that another instance has passed on, which has to be one about approvers, and reports false, having done nothing, where the
// approvers' pages are not here.
func (s *Admin) passed(ctx *fasthttp.RequestCtx, path string) bool {
	if s.approvals == nil || path != approversPath && path != enrolmentsPath {
		return false
	}
	if _, here := s.pagesAt(); !here {
		return false
	}
	ctx.Request.Header.SetRequestURI(path)
	s.route(ctx)
	return true
}

func (s *Admin) noApprovals(ctx *fasthttp.RequestCtx) bool {
	if s.approvals == nil {
		replyError(ctx, fasthttp.StatusNotFound, "the service takes no approvals by passkey; "+approvals.ErrPublicURL.Error())
	}
	return s.approvals == nil
}

// approvers lists the approvers. Where the enrolments can't be asked for, it says at which instance they are.
func (s *Admin) approvers(ctx *fasthttp.RequestCtx, _ string) {
	if s.noApprovals(ctx) {
		return
	}
	at, here := s.pagesAt()
	if !here {
		if status, answer, err := s.passOn(ctx); err == nil {
			writeJSON(ctx, status, answer)
			return
		}
	}
	list, err := s.approvals.Approvers(ctx)
	if err == nil && !here {
		list.PagesAt = at
	}
	reply(ctx, fasthttp.StatusOK)(list, err)
}

// notHere has the instance answer that has the approvers' pages, which has the enrolments in its memory.
func (s *Admin) notHere(ctx *fasthttp.RequestCtx) bool {
	at, here := s.pagesAt()
	if here {
		return false
	}
	status, answer, err := s.passOn(ctx)
	switch {
	case err == nil:
		writeJSON(ctx, status, answer)
	case errors.Is(err, slots.ErrElsewhere) && at == "":
		replyError(ctx, fasthttp.StatusServiceUnavailable, "no instance has the approvers' pages at the moment; try again")
	case errors.Is(err, slots.ErrElsewhere):
		replyError(ctx, fasthttp.StatusServiceUnavailable, "the approvers' pages are at the instance "+at+", and nothing was done there: "+err.Error()+"; try again, or run this on its machine")
	default:
		replyError(ctx, fasthttp.StatusServiceUnavailable, "whether "+at+" has done it is unknown: "+err.Error()+"; look with bailiff approvers list")
	}
	return true
}

// passOn takes a command to the instance that has the approvers' pages.
func (s *Admin) passOn(ctx *fasthttp.RequestCtx) (status int, answer []byte, err error) {
	if s.pass == nil {
		return 0, nil, slots.ErrElsewhere
	}
	return s.pass(context.Background(), string(ctx.Method()), string(pathOf(&ctx.Request.Header)), ctx.PostBody())
}

func (s *Admin) stateApprover(ctx *fasthttp.RequestCtx, _ string) {
	var request eventjson.Approver
	if s.noApprovals(ctx) || !readRequest(ctx, &request) || request.Action == ledger.ConfirmApprover.String() && s.notHere(ctx) {
		return
	}
	reply(ctx, fasthttp.StatusOK)(s.approvals.State(ctx, request))
}

// enrolApprover answers with a link and a code, which a log must not have.
func (s *Admin) enrolApprover(ctx *fasthttp.RequestCtx, _ string) {
	var request struct {
		Name string `json:"approver"`
	}
	if s.noApprovals(ctx) || s.notHere(ctx) || !readRequest(ctx, &request) {
		return
	}
	reply(ctx, fasthttp.StatusCreated)(s.approvals.Enrol(ctx, request.Name))
}

func (s *Admin) setPlan(ctx *fasthttp.RequestCtx, id string) {
	var request struct {
		Plan string `json:"plan"`
	}
	if !readRequest(ctx, &request) {
		return
	}
	reply(ctx, fasthttp.StatusOK)(s.admin.SetPlan(ctx, id, request.Plan))
}

func (s *Admin) changeScopes(ctx *fasthttp.RequestCtx, id string) {
	var change accounts.ScopeChange
	if !readRequest(ctx, &change) {
		return
	}
	reply(ctx, fasthttp.StatusOK)(s.admin.ChangeScopes(ctx, id, change))
}

// events lists the events of all keys, or of the one that the parameter key names; the rest is as in GET /v1/events.
func (s *Admin) events(ctx *fasthttp.RequestCtx) {
	arguments := ctx.QueryArgs()
	key := string(arguments.Peek("key"))
	arguments.Del("key")
	query, fault := eventQuery(arguments)
	if fault != nil {
		replyError(ctx, fasthttp.StatusBadRequest, fault.Message)
		return
	}
	reply(ctx, fasthttp.StatusOK)(s.admin.EventsOf(ctx, key, query))
}

func (s *Admin) createKey(ctx *fasthttp.RequestCtx) {
	var request accounts.NewKey
	if !readRequest(ctx, &request) {
		return
	}
	reply(ctx, fasthttp.StatusCreated)(s.admin.CreateKey(ctx, request))
}

// readRequest reads the JSON of a request, or answers what is wrong with it. A member that this version does not know is
// an error: what it was to say would be lost otherwise.
func readRequest(ctx *fasthttp.RequestCtx, into any) bool {
	decoder := json.NewDecoder(bytes.NewReader(ctx.PostBody()))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	if _, more := decoder.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("something follows the JSON object")
	}
	if err != nil {
		replyError(ctx, fasthttp.StatusBadRequest, err.Error())
	}
	return err == nil
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
		{ledger.ErrSerial, fasthttp.StatusConflict},
		{ledger.ErrStatementSerial, fasthttp.StatusConflict},
		{accounts.ErrStatement, fasthttp.StatusForbidden},
		{ledger.ErrOperator, fasthttp.StatusForbidden},
		{ledger.ErrDefinition, fasthttp.StatusConflict},
		{ledger.ErrTooMany, fasthttp.StatusConflict},
		{ledger.ErrUnavailable, fasthttp.StatusServiceUnavailable},
		{ledger.ErrUnknown, fasthttp.StatusServiceUnavailable},
	} {
		if errors.Is(err, row.kind) {
			return row.status
		}
	}
	return fasthttp.StatusInternalServerError
}
