package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/httpd"
	"bailiff/httpd/peers"
	"bailiff/runtime/attest"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pebbleledger "bailiff/runtime/ledger/pebble"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/reopen"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/metrics"
)

// newStore returns the database that keeps the record, nil where the data folder does. asked ends waiting for another instance.
func (r *service) newStore(asked <-chan struct{}) (*pgledger.Store, error) {
	s := r.settings
	if s.Store == "" {
		return nil, nil
	}
	if _, err := os.Lstat(s.LedgerPath()); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has a record of its own, and SVC_STORE names another; nothing is taken over from it: copy it into an empty store with bailiff store import, or unset SVC_STORE, or set SVC_DATA_DIR to a new folder to begin without it", s.DataDir)
	}
	var err error
	if r.folder, err = pebbleledger.Hold(s.DataDir); err != nil {
		return nil, fmt.Errorf("%w; each instance of SVC_STORE needs an SVC_DATA_DIR of its own", err)
	}
	options, err := s.StoreOptions(r.calls)
	if err != nil {
		return nil, err
	}
	stop, end := context.WithCancel(context.Background())
	r.endStore = end
	if asked != nil {
		r.calls.Go(func() {
			if <-asked; !r.sharing.Load() { // slots stay until requests are answered
				end()
			}
		})
	}
	options.Stop, options.Peer = stop.Done(), r.peers.address
	options.Waits = func(owner string) {
		r.log.Info("waiting: another instance decides", "owner", owner, "instance", options.Name, "lease", options.Lease, "address", r.address)
		r.notify(daemon.SdNotifyReady) // it may wait for months
	}
	return pgledger.NewStore(options)
}

// readSigner reads the signing keys. Where there are none it makes them in SVC_KEY_DIR, unless other instances sign already.
func (r *service) readSigner() (*attest.Signer, error) {
	s := r.settings
	if s.SigningKeyFile == "" && r.store != nil {
		noted, err := r.store.Signer()
		if err != nil {
			return nil, err
		}
		if _, missing := os.Stat(s.SigningKeyPath()); noted != "" && errors.Is(missing, fs.ErrNotExist) {
			return nil, fmt.Errorf("there are none in %s, and the other instances of SVC_STORE sign with %s; copy their folder SVC_KEY_DIR here", s.KeyDir, clip(strings.Join(strings.Fields(noted), " and ")))
		}
	}
	if file := s.SigningKeyFile; file != "" {
		return attest.Load(file)
	}
	return attest.LoadOrCreate(s.KeyDir, rand.Reader)
}

// sameSigner holds the signing keys against those that an instance of the store signed with last, which may have been retired since.
func (r *service) sameSigner() error {
	if r.store == nil {
		return nil
	}
	noted, err := r.store.Signer()
	if err != nil {
		return err
	}
	ids := strings.Fields(noted)
	if len(ids) != 0 && (len(ids) != 2 || !r.signer.Lists(ids[0], ids[1])) {
		return fmt.Errorf("the signing keys are %s and %s, and the other instances of SVC_STORE sign with %s: relying parties would not know these; copy SVC_KEY_DIR from an instance that has decided",
			r.signer.KeyID(), r.signer.PQCKeyID(), clip(strings.Join(ids, " and ")))
	}
	return nil
}

// standBy finds what would keep this instance from deciding, and answers clients until it does.
func (r *service) standBy(hangUps chan os.Signal) error {
	if r.store == nil {
		return nil
	}
	if err := r.sameSigner(); err != nil {
		return err
	}
	several, err := r.fitsStore()
	if err != nil {
		return err
	}
	r.noteFirstPolicy()
	if err := r.readCertificates(); err != nil {
		return err
	}
	at, err := r.listenAPI()
	if err != nil {
		return err
	}
	if err := r.metrics.Store(r.decides, func() metrics.StoreCounts {
		counts := r.store.Counts()
		return metrics.StoreCounts{Takeovers: counts.Takeovers, Unanswered: counts.Looked, Fenced: counts.Fenced, Offset: counts.Offset}
	}); err != nil {
		return err
	}
	if err := r.serveMonitor(); err != nil {
		return err
	}
	if err := r.countBodies(); err != nil {
		return err
	}
	if err := r.securePeers(); err != nil {
		return err
	}
	r.peers.passing = r.newPassing()
	if several {
		return nil
	}
	if err := r.awaitPeers(); err != nil {
		return err
	}
	if r.standby, err = httpd.NewStandby(r.clients[at].listener, r.standbyConfig()); err != nil {
		return err
	}
	r.clients[at].http = r.standby
	ctx, cancel := context.WithCancel(context.Background())
	r.stopWaiting = cancel
	r.startWatchdog(ctx, func(error) {})
	r.calls.Go(func() { r.reloadWaiting(ctx, hangUps) })
	if r.peers.listener != nil {
		r.calls.Go(func() { r.askPeer(ctx) })
	}
	return nil
}

// fitsStore refuses settings that do not fit the store, and reports whether that has several slots.
func (r *service) fitsStore() (several bool, err error) {
	if _, err := r.store.ID(); err != nil { // which says how tables are made where there are none
		return false, err
	}
	if r.settings.EventRetention != 0 {
		if err := r.store.Drops(); err != nil {
			return false, fmt.Errorf("SVC_EVENT_RETENTION: %w", err)
		}
	}
	if _, err := ReadShims(r.settings); err != nil {
		return false, fmt.Errorf("SVC_TRUSTED_SHIMS: %w", err)
	}
	return r.several()
}

// standbyConfig is how this instance answers while another one decides.
func (r *service) standbyConfig() httpd.StandbyConfig {
	c := httpd.StandbyConfig{Bodies: r.bodies, Checks: r.checks, Log: r.log, Clock: r.clock, Random: r.calls.Random, TrustedProxies: r.settings.TrustedProxies, Metrics: r.metrics}
	c.Pass = r.peers.passing
	return c
}

// newPassing returns what passes requests on to other instances, nil where they are not.
func (r *service) newPassing() *peers.Passing {
	if r.peers.listener == nil {
		return nil
	}
	p := &peers.Passing{Owner: r.instanceOf, Dial: r.dialPeer, Patience: time.Duration(r.settings.StoreLease) + standbyPatience, Connections: r.peers.connections}
	if r.certificates.peer.Load() != nil { // without them any process of the machine could answer, and have claims signed
		p.Sign, p.Pair = r.signer.IssueText, r.signer.Pair()
	}
	return p
}

// several reports whether the store has several slots, and refuses settings that do not fit them.
func (r *service) several() (bool, error) {
	n, err := r.store.Count()
	if err != nil || n == 1 {
		return false, err
	}
	return true, r.fitsSlots()
}

// decides reports whether this instance owns the record, or a part of it.
func (r *service) decides() bool { return r.store.Owned() > 0 }

// endWaiting ends the work of an instance while another one decides.
func (r *service) endWaiting() {
	if r.stopWaiting != nil {
		r.stopWaiting()
	}
}

// checks are those of the latest look or, while another instance decides, the one that does not pass for that.
func (r *service) checks() []httpd.Check {
	if ready := r.deciding.Load(); ready != nil {
		return ready.checks()
	}
	reason := "it is starting"
	if r.store != nil && r.store.Standing() == pgledger.Waiting {
		if asked := r.peers.ready.Load(); asked != nil {
			return []httpd.Check{*asked}
		}
		reason = "another instance decides, and this one waits for it to end"
	}
	return []httpd.Check{{Name: "service", Reason: reason}}
}

// openStored waits for the record in the database, and takes it.
func (r *service) openStored(errorf func(format string, arguments ...any), again reopen.Options) error {
	several, err := r.several()
	if err != nil {
		return err
	}
	if several {
		return r.openSlots(errorf)
	}
	l, err := r.store.Ledger(commit.Options{
		Random: r.calls.Random, Logger: errorf, Observer: r.metrics, Clock: r.calls.Clock, Go: r.calls.Go,
	}, again)
	if err != nil {
		return err
	}
	r.ledger, r.confirm = l, l
	return nil
}

// hasRecord reports whether there is a record already, as far as that is known before it is opened.
func hasRecord(s *cmdsettings.Settings) bool {
	_, err := os.Lstat(s.LedgerPath())
	return s.Store != "" || err == nil
}

// closeStore gives up the connections that are not the ledger's.
func (r *service) closeStore() {
	if r.store != nil {
		r.store.Close()
		r.endStore()
		r.folder.Close()
	}
}

// fitsSlots refuses settings with which an instance can't share a store of several slots.
func (r *service) fitsSlots() error {
	s := r.settings
	if s.PeerListen == "" || s.PeerCert == "" {
		return errors.New("SVC_STORE has several slots, and instances ask each other about their keys; set SVC_PEER_LISTEN, SVC_PEER_CERT, SVC_PEER_KEY and SVC_PEER_CA")
	}
	return nil
}

// openSlots opens the ledger over the slots of the store that are this instance's share, as they come.
func (r *service) openSlots(errorf func(format string, arguments ...any)) error {
	many, err := r.store.Share(slots.Options{
		Commit: commit.Options{Random: r.calls.Random, Logger: errorf, Observer: r.metrics, Clock: r.calls.Clock, Go: r.calls.Go},
		Remote: r.peers.passing.Ask, Log: r.log, Timers: r.calls.Timers, Go: r.calls.Go,
		Opened: func(slot int, l *commit.Ledger) error {
			return errors.Join(r.slotOpened(slot, l), r.beginSending(slot, l))
		},
		// The decider is there before the first slot comes.
		Bound:    func(_ int, bound ledger.BoundDefault) { r.decider.DefaultBound(bound) },
		Refused:  func(err error) error { return r.decider.DefaultRefused(err) },
		Replaced: r.fails,
	})
	if err != nil {
		return err
	}
	r.sharing.Store(true)
	r.ledger, r.confirm, r.many = many, many, many
	return nil
}
