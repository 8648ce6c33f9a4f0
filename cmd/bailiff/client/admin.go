package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/accounts"
	"bailiff/runtime/attest"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/events"
	"bailiff/runtime/evidence"
	"bailiff/runtime/holds"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/reopen"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/metrics"
	"bailiff/runtime/policies"
	svc "bailiff/runtime/service"
	"bailiff/runtime/system"
)

// Admin is what the operator's commands need. The service's own ledger has it, and so has the admin socket of a
// service that runs.
type Admin interface {
	CreateKey(context.Context, accounts.NewKey) (accounts.KeyView, error)
	Keys(context.Context) ([]accounts.KeyView, error)
	RevokeKey(context.Context, string) (accounts.KeyView, error)
	SetPlan(ctx context.Context, id, plan string) (accounts.KeyView, error)
	ChangeScopes(ctx context.Context, id string, change accounts.ScopeChange) (accounts.KeyView, error)
	Usage(ctx context.Context, month string) ([]accounts.UsageView, error)
	Deployments(ctx context.Context, keyID string) ([]accounts.DeploymentView, error)
	AllHolds(context.Context) ([]holds.Summary, error)
	FindHold(ctx context.Context, prefix string) (*holds.OperatorView, error)
	Resolve(ctx context.Context, keyID, id string, body json.RawMessage) (*holds.View, error)
	WebhooksOf(ctx context.Context, keyID string) ([]accounts.WebhookView, error)
	AddWebhookOf(ctx context.Context, keyID string, body json.RawMessage) (*accounts.WebhookView, error)
	RemoveWebhookOf(ctx context.Context, keyID, id string) error
	EnableWebhookOf(ctx context.Context, keyID, id string) error
	AcceptClock(context.Context) (decision.ClockView, error)
	HaltOf(ctx context.Context, keyID string) (accounts.HaltView, error)
	Halt(ctx context.Context, request accounts.HaltRequest) (accounts.HaltView, error)
	OperatorView(context.Context) (accounts.OperatorView, error)
	Rotate(context.Context, accounts.RotationRequest) (accounts.OperatorView, error)
	Evidence(ctx context.Context, id, keyID string) (*evidence.Bundle, error)
	Limits(ctx context.Context, keyID string) (*decision.LimitsView, error)
	Backup(ctx context.Context, after uint64) (*events.BackupPage, error)
	BackupBase(ctx context.Context, of uint64, at int64) (*events.BasePage, error)
	EventsOf(ctx context.Context, keyID string, query events.Query) (*events.Page, error)
	AllPins(ctx context.Context, query policies.PinQuery) ([]policies.KeyPinView, error)
	AcceptTool(ctx context.Context, choice policies.PinChoice) (policies.KeyPinView, error)
	ForgetTools(ctx context.Context, choice policies.PinChoice) (policies.PinQuery, error)
}

// presence says what to do where the data folder holds no ledger, or not all of it.
type presence int

// What to do without a ledger.
const (
	MustExist presence = iota // a question about nothing is most likely asked in the wrong folder
	Changes                   // the same of a change, which is refused where records are missing, too
	MayCreate
)

// WithAdmin calls use with the service that runs on the data folder or, where none does, with the ledger there.
func WithAdmin(std cli.Streams, ledgerIs presence, use func(context.Context, Admin) error) error {
	s, err := cmdsettings.Load(os.Environ())
	if err != nil {
		return cli.Usage("%v", err)
	}
	ctx := context.Background()
	if remote := DialAdmin(s.AdminSocket()); remote != nil {
		return use(ctx, remote)
	}
	if _, err := os.Stat(s.LedgerPath()); err != nil && s.Store == "" {
		if !errors.Is(err, fs.ErrNotExist) {
			return cli.Hidden(err)
		}
		if err := cmp.Or(Moved(s), Gone(s)); err != nil {
			return err
		}
		if ledgerIs != MayCreate {
			return cli.Fail("there is no data in %s; go to the service's folder, or set SVC_DATA_DIR", s.DataDir)
		}
		fmt.Fprintln(std.Err, "bailiff: making new data in", s.DataDir)
	}
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return err
	}
	done := cli.ProgressFlag{}.Start(std, "reading the record").Working()
	l, err := openAlone(s, ledgerIs, func(err error) { fmt.Fprintln(std.Err, "bailiff: warning:", cli.Plain(err)) })
	done()
	if err != nil {
		return err
	}
	config := svc.Config{Ledger: l, Environment: s.Environment, Issuer: string(s.Issuer), Hosted: s.Hosted, Clock: clock.System(), Random: rand.Reader}
	if s.OperatorKey != "" {
		operator, err := attest.ParseOperatorKey(s.OperatorKey)
		if err != nil {
			return errors.Join(cli.Usage("SVC_OPERATOR_PUBLIC_KEY: %v", err), l.Close())
		}
		config.Operator = [32]byte(operator)
	}
	err = use(ctx, decision.NewAdmin(config))
	if closing := l.Close(); err == nil {
		err = closing
	}
	return err
}

// openAlone opens the ledger that no service has. Where records are missing a question is answered, and warn is called.
func openAlone(s *cmdsettings.Settings, ledgerIs presence, warn func(error)) (ledger.Ledger, error) {
	if s.Store != "" {
		return openStore(s, ledgerIs, warn)
	}
	l, err := OpenLedger(s, system.Real(clock.System()), nil, nil, nil)
	if err != nil {
		return nil, err
	}
	head, err := l.Head(context.Background())
	if err == nil {
		err = ledgerIs.judge(ends{s.CheckpointPath(): head}.missing(s), warn)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Gone returns an error where the data folder has no ledger, and its checkpoint says that there was one.
func Gone(s *cmdsettings.Settings) error {
	if !cli.IsMissing(s.LedgerPath()) || cli.IsMissing(s.CheckpointPath()) {
		return nil
	}
	return cli.Fail("%s is gone, and %s says that there was one; restore the data from a backup", s.LedgerPath(), s.CheckpointPath())
}

// judge returns an error that keeps a command from changing a record.
func (p presence) judge(missing error, warn func(error)) error {
	if missing != nil && p == MustExist {
		warn(missing)
		return nil
	}
	return missing
}

// ends are the ends of logs, by the paths of their checkpoints.
type ends map[string]ledger.Head

// missing returns an error where a log lacks what the last service signed that it had: a change would hide that, and count on from an older state.
// Without a checkpoint, or keys that verify it, that is left to the next start.
func (e ends) missing(s *cmdsettings.Settings) error {
	signer, err := ExistingSigner(s)
	if err != nil {
		return nil //nolint:nilerr // the next start says so
	}
	for _, path := range slices.Sorted(maps.Keys(e)) {
		if cli.IsMissing(path) {
			continue
		}
		text, err := cli.ReadFile(path, attest.MaxCheckpointBytes)
		var kept attest.Checkpoint
		if err == nil {
			kept, err = signer.CheckpointVerifier().Open(text)
		}
		if err != nil {
			return cli.Fail("whether records are missing can't be found out by %s: %v; bailiff serve says what to do", path, err)
		}
		if head := e[path]; !Reaches(head, kept) {
			return cli.Fail("records are MISSING: %s, signed at %s, is of record %d of the log %x, and the log ends at %d of %x; bailiff serve says what to do",
				path, kept.At.Format(time.RFC3339), kept.LSN, kept.Stream, head.LSN, head.Stream)
		}
	}
	return nil
}

// endsOf reads the ends of the logs in a database.
func endsOf(s *cmdsettings.Settings, store *pgledger.Store) (ends, error) {
	found := ends{}
	err := store.LookAll(func(logs []commit.Log) error {
		for slot, log := range logs {
			end, err := commit.EndOf(log)
			if err != nil {
				return err
			}
			path := s.CheckpointPath()
			if len(logs) > 1 {
				path = s.SlotCheckpointPath(slot)
			}
			found[path] = end
		}
		return nil
	})
	return found, err
}

// Reaches reports whether a log that ends with a head may have the record that a checkpoint signed. Earlier groups are not looked at.
func Reaches(head ledger.Head, kept attest.Checkpoint) bool {
	return kept.Stream == head.Stream && (kept.LSN < head.LSN || kept.LSN == head.LSN && kept.Hash == head.Hash)
}

// openStore takes the record in the database for a command. It does not wait for an instance that has it.
func openStore(s *cmdsettings.Settings, ledgerIs presence, warn func(error)) (ledger.Ledger, error) {
	calls := system.Real(clock.System())
	store, busy, err := CommandStore(s, calls)
	if err != nil {
		return nil, err
	}
	n, err := store.Count()
	if err == nil && n > 0 {
		var found ends
		if found, err = endsOf(s, store); err == nil {
			err = found.missing(s)
		}
		if n == 1 { // a log of several gets copies of records when it is opened, also for a question
			err = ledgerIs.judge(err, warn)
		}
		if err != nil {
			store.Close()
			return nil, err
		}
	}
	if n > 1 {
		store.Close()
		return openSlots(s, calls)
	}
	l, err := store.Ledger(commit.Options{Random: calls.Random, Clock: calls.Clock, Go: calls.Go}, reopen.Options{Random: calls.Random})
	if err != nil {
		store.Close()
		return nil, busy(err, "run this on its machine, with the SVC_DATA_DIR of its service")
	}
	return &ofStore{l, store}, nil
}

// StorePatience is how long a command waits for an answer of the database.
const StorePatience = 10 * time.Second

// commandName ends the name of a command as an instance.
const commandName = "/command"

// openSlots takes all slots of the record in the database for a command, where no instance has any.
func openSlots(s *cmdsettings.Settings, calls system.Calls) (ledger.Ledger, error) {
	options, err := s.StoreOptions(calls)
	if err != nil {
		return nil, err
	}
	stop, end := context.WithCancel(context.Background())
	options.Patience = StorePatience
	options.Name += commandName
	options.Stop = stop.Done()
	store, err := pgledger.NewStore(options)
	if err != nil {
		end()
		return nil, err
	}
	l, owner, err := store.Alone(slots.Options{
		Commit: commit.Options{Random: calls.Random, Clock: calls.Clock, Go: calls.Go}, Log: slog.New(slog.DiscardHandler), Go: calls.Go, Timers: calls.Timers,
	})
	o := &ofSlots{l, store, end}
	switch {
	case strings.HasSuffix(owner, commandName):
		err = cli.Fail("another command has the record; try again")
	case owner != "":
		err = cli.Fail("instances run, such as %s; run this on the machine of one of them, with the SVC_DATA_DIR of its service", owner)
	case err != nil && l != nil:
		return nil, errors.Join(err, o.Close())
	case err == nil:
		return o, nil
	}
	end()
	store.Close()
	return nil, err
}

// An ofSlots is a ledger over slots that closes its database, too.
type ofSlots struct {
	*slots.Ledger
	store *pgledger.Store
	end   func()
}

// Close implements ledger.Ledger.
func (o *ofSlots) Close() error {
	defer o.store.Close()
	o.end()
	return o.Ledger.Close()
}

// CommandStore returns the database for a command, which does not wait for an instance that has the record. busy says of an error by which
// the record could not be taken who has it, and what to do instead.
func CommandStore(s *cmdsettings.Settings, calls system.Calls) (store *pgledger.Store, busy func(err error, instead string) error, err error) {
	options, err := s.StoreOptions(calls)
	if err != nil {
		return nil, nil, err
	}
	options.Patience = StorePatience
	options.Name += commandName // an instance of the name would be taken for this process
	stop := make(chan struct{})
	close(stop)
	options.Stop = stop
	var owner string
	options.Waits = func(name string) { owner = name }
	store, err = pgledger.NewStore(options)
	return store, func(err error, instead string) error {
		switch {
		case errors.Is(err, pgledger.ErrStopped) && owner != "":
			return cli.Fail("the instance %s decides; %s", owner, instead)
		case errors.Is(err, pgledger.ErrStopped):
			return cli.Fail("another command has the record; try again")
		}
		return err
	}, err
}

// An ofStore is a ledger that closes its database, too.
type ofStore struct {
	*commit.Ledger
	store *pgledger.Store
}

// Close implements ledger.Ledger.
func (o *ofStore) Close() error {
	defer o.store.Close()
	return o.Ledger.Close()
}

// OpenLedger opens the ledger in the data folder; errorf, where given, gets what its store reports, counts what is
// made durable, and again says how the ledger is opened again when it has failed.
func OpenLedger(s *cmdsettings.Settings, calls system.Calls, errorf func(format string, arguments ...any), counts *metrics.Metrics, again *reopen.Options) (ledger.Ledger, error) {
	if err := Moved(s); err != nil {
		return nil, err
	}
	l, err := pebbleledger.Open(s.LedgerPath(), pebbleledger.Options{
		Random: calls.Random, AdminSocket: s.AdminSocket(), Errorf: errorf, Observer: counts, Clock: calls.Clock, Go: calls.Go, Reopen: again,
	})
	if err != nil {
		return nil, err // a nil *commit.Ledger would be a ledger.Ledger that is not nil
	}
	return l, nil
}

// adminTimeout bounds one call to a service, which answers when its disk has.
const adminTimeout = 30 * time.Second

// remoteAdmin talks to the admin socket of a service.
type remoteAdmin struct{ client *http.Client }

// DialAdmin returns an admin if a service answers on the socket, and nil where none does.
func DialAdmin(socket string) *remoteAdmin {
	connection, err := net.Dial("unix", socket)
	if err != nil {
		return nil
	}
	connection.Close()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &remoteAdmin{&http.Client{Timeout: adminTimeout, Transport: &http.Transport{DialContext: dial}}}
}

// CreateKey makes a key.
func (r *remoteAdmin) CreateKey(ctx context.Context, request accounts.NewKey) (view accounts.KeyView, err error) {
	err = r.call(ctx, "POST", "/keys", request, &view)
	return view, err
}

// Keys lists the keys.
func (r *remoteAdmin) Keys(ctx context.Context) (views []accounts.KeyView, err error) {
	err = r.call(ctx, "GET", "/keys", nil, &views)
	return views, err
}

// RevokeKey revokes a key.
func (r *remoteAdmin) RevokeKey(ctx context.Context, id string) (view accounts.KeyView, err error) {
	err = r.call(ctx, "DELETE", "/keys/"+url.PathEscape(id), nil, &view)
	return view, err
}

// SetPlan sets the plan of a key.
func (r *remoteAdmin) SetPlan(ctx context.Context, id, plan string) (view accounts.KeyView, err error) {
	err = r.call(ctx, "PUT", "/keys/"+url.PathEscape(id)+"/plan", map[string]string{"plan": plan}, &view)
	return view, err
}

// ChangeScopes gives a key scopes, and takes some away.
func (r *remoteAdmin) ChangeScopes(ctx context.Context, id string, change accounts.ScopeChange) (view accounts.KeyView, err error) {
	err = r.call(ctx, "PUT", "/keys/"+url.PathEscape(id)+"/scopes", change, &view)
	return view, err
}

// Usage returns a month's usage of all keys.
func (r *remoteAdmin) Usage(ctx context.Context, month string) (views []accounts.UsageView, err error) {
	query := url.Values{}
	if month != "" {
		query.Set("month", month)
	}
	err = r.call(ctx, "GET", "/usage?"+query.Encode(), nil, &views)
	return views, err
}

// Deployments lists the deployments of a key.
func (r *remoteAdmin) Deployments(ctx context.Context, keyID string) (views []accounts.DeploymentView, err error) {
	err = r.call(ctx, "GET", "/deployments/"+url.PathEscape(keyID), nil, &views)
	return views, err
}

// AllHolds lists the holds.
func (r *remoteAdmin) AllHolds(ctx context.Context) (views []holds.Summary, err error) {
	err = r.call(ctx, "GET", "/holds", nil, &views)
	return views, err
}

// FindHold returns the hold whose id begins with a text.
func (r *remoteAdmin) FindHold(ctx context.Context, prefix string) (*holds.OperatorView, error) {
	view := new(holds.OperatorView)
	return view, r.call(ctx, "GET", "/holds/"+url.PathEscape(prefix), nil, view)
}

// Resolve sends the operator's decision about a hold.
func (r *remoteAdmin) Resolve(ctx context.Context, keyID, id string, body json.RawMessage) (*holds.View, error) {
	view := new(holds.View)
	return view, r.call(ctx, "POST", "/holds/"+url.PathEscape(id)+"/resolution?"+url.Values{"key": {keyID}}.Encode(), body, view)
}

// EventsOf returns a page of the events of a key or, where that is empty, of all.
func (r *remoteAdmin) EventsOf(ctx context.Context, keyID string, query events.Query) (*events.Page, error) {
	values := EncodeQuery(query)
	if keyID != "" {
		values.Set("key", keyID)
	}
	view := new(events.Page)
	return view, r.call(ctx, "GET", "/events?"+values.Encode(), nil, view)
}

// Limits asks the service for what is left of a key's limits.
func (r *remoteAdmin) Limits(ctx context.Context, keyID string) (*decision.LimitsView, error) {
	view := new(decision.LimitsView)
	return view, r.call(ctx, "GET", "/limits/"+url.PathEscape(keyID), nil, view)
}

// Backup asks the service for a page of its log.
func (r *remoteAdmin) Backup(ctx context.Context, after uint64) (*events.BackupPage, error) {
	page := new(events.BackupPage)
	return page, r.call(ctx, "GET", "/backup?"+url.Values{"after": {strconv.FormatUint(after, 10)}}.Encode(), nil, page)
}

// BackupBase asks the service for a part of what its log begins with.
func (r *remoteAdmin) BackupBase(ctx context.Context, of uint64, at int64) (*events.BasePage, error) {
	page := new(events.BasePage)
	return page, r.call(ctx, "GET", "/backup/base?"+url.Values{"of": {strconv.FormatUint(of, 10)}, "at": {strconv.FormatInt(at, 10)}}.Encode(), nil, page)
}

// Evidence asks the service for the evidence for an event.
func (r *remoteAdmin) Evidence(ctx context.Context, id, keyID string) (*evidence.Bundle, error) {
	bundle := new(evidence.Bundle)
	values := url.Values{}
	if keyID != "" {
		values.Set("key", keyID)
	}
	return bundle, r.call(ctx, "GET", "/evidence/"+url.PathEscape(id)+"?"+values.Encode(), nil, bundle)
}

// AllPins lists pins.
func (r *remoteAdmin) AllPins(ctx context.Context, query policies.PinQuery) (views []policies.KeyPinView, err error) {
	values := url.Values{"key": {query.KeyID}, "server": {query.Server}, "tool": {query.Tool}}
	err = r.call(ctx, "GET", "/pins?"+values.Encode(), nil, &views)
	return views, err
}

// AcceptTool accepts the definition of a tool.
func (r *remoteAdmin) AcceptTool(ctx context.Context, choice policies.PinChoice) (view policies.KeyPinView, err error) {
	err = r.call(ctx, "POST", "/pins/accept", choice, &view)
	return view, err
}

// ForgetTools gives up pins.
func (r *remoteAdmin) ForgetTools(ctx context.Context, choice policies.PinChoice) (forgotten policies.PinQuery, err error) {
	err = r.call(ctx, "POST", "/pins/forget", choice, &forgotten)
	return forgotten, err
}

// WebhooksOf lists the webhooks of a key.
func (r *remoteAdmin) WebhooksOf(ctx context.Context, keyID string) (views []accounts.WebhookView, err error) {
	err = r.call(ctx, "GET", "/webhooks/"+url.PathEscape(keyID), nil, &views)
	return views, err
}

// AddWebhookOf registers a webhook for a key.
func (r *remoteAdmin) AddWebhookOf(ctx context.Context, keyID string, body json.RawMessage) (*accounts.WebhookView, error) {
	view := new(accounts.WebhookView)
	return view, r.call(ctx, "POST", "/webhooks/"+url.PathEscape(keyID), body, view)
}

// RemoveWebhookOf removes a webhook of a key.
func (r *remoteAdmin) RemoveWebhookOf(ctx context.Context, keyID, id string) error {
	return r.call(ctx, "DELETE", "/webhooks/"+url.PathEscape(keyID)+"?"+url.Values{"id": {id}}.Encode(), nil, new(struct{}))
}

// EnableWebhookOf enables a webhook of a key.
func (r *remoteAdmin) EnableWebhookOf(ctx context.Context, keyID, id string) error {
	return r.call(ctx, "POST", "/webhooks/"+url.PathEscape(keyID)+"/enable?"+url.Values{"id": {id}}.Encode(), nil, new(struct{}))
}

// AcceptClock has the service accept its clock.
func (r *remoteAdmin) AcceptClock(ctx context.Context) (view decision.ClockView, err error) {
	err = r.call(ctx, "POST", "/clock/accept", nil, &view)
	return view, err
}

// HaltOf returns how far a key or the service is stopped.
func (r *remoteAdmin) HaltOf(ctx context.Context, keyID string) (view accounts.HaltView, err error) {
	err = r.call(ctx, "GET", "/halt?"+url.Values{"key": {keyID}}.Encode(), nil, &view)
	return view, err
}

// Halt stops a key or the service, or lets it go on.
func (r *remoteAdmin) Halt(ctx context.Context, request accounts.HaltRequest) (view accounts.HaltView, err error) {
	err = r.call(ctx, "POST", "/halt", request, &view)
	return view, err
}

// OperatorView returns which key the service's operator has.
func (r *remoteAdmin) OperatorView(ctx context.Context) (view accounts.OperatorView, err error) {
	err = r.call(ctx, "GET", "/operator", nil, &view)
	return view, err
}

// Rotate replaces the operator's key.
func (r *remoteAdmin) Rotate(ctx context.Context, request accounts.RotationRequest) (view accounts.OperatorView, err error) {
	err = r.call(ctx, "POST", "/operator/rotation", request, &view)
	return view, err
}

// call sends one request and reads its answer, or the refusal's message as an error.
func (r *remoteAdmin) call(ctx context.Context, method, path string, body, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://admin"+path, bytes.NewReader(encoded))
	if err != nil {
		return err
	}
	response, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		refusal := struct{ Message string }{}
		if json.Unmarshal(text, &refusal) != nil || refusal.Message == "" {
			refusal.Message = response.Status
		}
		return cli.Fail("the service refused: %s", cli.WithoutLayer(refusal.Message))
	}
	return json.Unmarshal(text, answer)
}
