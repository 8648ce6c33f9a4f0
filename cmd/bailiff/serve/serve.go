package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/coreos/go-systemd/v22/daemon"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/mask"
	"bailiff/runtime/metrics"
	"bailiff/runtime/system"
	"bailiff/runtime/webhook"
)

// shutdownTimeout bounds how long the service takes to end, all in all.
const shutdownTimeout = 20 * time.Second

// collectAtPercent is how far the heap grows before it is collected, unless GOGC says otherwise. What lives is small,
// the counters of some keys; what a request leaves behind is cheaper to collect seldom.
const collectAtPercent = 800

type serveCommand struct {
	Checkpoint   string `help:"Hold the data against this checkpoint instead of the one in SVC_DATA_DIR." placeholder:"FILE" xor:"checkpoint"`
	Moved        bool   `help:"Start although the data is a copy, having stopped every service on the original for good."`
	NoCheckpoint bool   `help:"Start although the checkpoint is missing or not good, having decided that no record is missing." xor:"checkpoint"`
}

// Help lists the environment variables.
func (c *serveCommand) Help() string { return cmdsettings.Help() }

// Run serves until SIGTERM or SIGINT.
func (c *serveCommand) Run(std cli.Streams) error {
	RelaxTimers()
	l, err := newLaunch(std, func() (*cmdsettings.Settings, error) { return cmdsettings.Load(os.Environ()) })
	if err != nil {
		return err
	}
	l.proof, l.moved = proof{c.Checkpoint, c.NoCheckpoint}, c.Moved
	return serve(l, func(*service) error { return nil })
}

// A launch is what a service starts from.
type launch struct {
	settings *cmdsettings.Settings
	again    func() (*cmdsettings.Settings, error) // reads the settings, for a reload
	log      *slog.Logger
	level    *slog.LevelVar // of the log
	proof    proof
	moved    bool            // the data may be a copy
	asked    <-chan struct{} // closed when the process is asked to end; nil for never
	hangUps  chan os.Signal  // each asks for a reload; nil for never
}

// newLaunch returns the launch of a service with settings that read returns.
func newLaunch(std cli.Streams, read func() (*cmdsettings.Settings, error)) (launch, error) {
	s, err := read()
	if err != nil {
		return launch{}, startup("%v", err)
	}
	level := new(slog.LevelVar)
	level.Set(s.LogLevel)
	return launch{settings: s, again: read, log: serviceLog(std, s, level, os.Environ()), level: level}, nil
}

// serviceLog returns the log of a service, after warning of every name in environ that is most likely a misspelt setting.
func serviceLog(std cli.Streams, s *cmdsettings.Settings, level slog.Leveler, environ []string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: maskAttr}
	var handler slog.Handler = slog.NewTextHandler(std.Err, options)
	if s.LogFormat == "json" {
		handler = slog.NewJSONHandler(std.Err, options)
	}
	log := slog.New(handler)
	for _, name := range cmdsettings.Unknown(environ) {
		log.Warn("unknown setting is ignored", "name", name)
	}
	return log
}

// maskAttr hides credentials in what a log line says.
func maskAttr(_ []string, attr slog.Attr) slog.Attr {
	switch attr.Value.Kind() {
	case slog.KindString:
		attr.Value = slog.StringValue(mask.Text(attr.Value.String()))
	case slog.KindAny:
		switch value := attr.Value.Any().(type) {
		case *slog.Source, slog.Level:
		default:
			attr.Value = slog.StringValue(mask.Text(fmt.Sprintf("%+v", value)))
		}
	}
	return attr
}

// startup is an error in the form of the specification's startup errors; the process exits with 1.
func startup(format string, arguments ...any) error {
	return &cli.Exit{Code: cli.ExitFailed, Message: cli.Plainf("[Svc] "+format, arguments...), Plain: true}
}

// serve starts the service, calls ready, and runs it until a signal comes or it fails.
func serve(l launch, ready func(*service) error) error {
	if os.Getenv("GOMAXPROCS") == "" {
		// One processor is stuck in fdatasync at nearly all times; twice the cores keep the others busy.
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAtPercent)
	}
	if _, err := memlimit.Set(); err != nil && !errors.Is(err, memlimit.ErrNoCgroup) && !errors.Is(err, memlimit.ErrCgroupsNotSupported) {
		l.log.Warn("the memory limit of the control group can't be read; set GOMEMLIMIT to nine tenths of it", "error", err)
	}
	// The reader of the log may end first, as tee does at Ctrl-C. Go ends a process that then writes to it.
	signal.Ignore(syscall.SIGPIPE)
	hangUps, stopHangUps := catchHangUps() // a signal that comes while the service starts reloads the policy once it has started
	defer stopHangUps()
	signals, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	l.asked, l.hangUps = signals.Done(), hangUps
	running, err := startUnless(l.asked, l.settings.Store != "", func() (*service, error) { return start(l) })
	if errors.Is(err, pgledger.ErrStopped) {
		l.log.Info("asked to end while another instance decides; nothing was decided here")
		return nil
	}
	if err != nil {
		return err
	}
	if err := ready(running); err != nil {
		return errors.Join(err, running.close())
	}
	return running.run(signals, stop, hangUps)
}

// startUnless starts a service, or gives up on it when the process is asked to end: a large record takes its time to open,
// and one on a full disk opens only when there is room. Nothing was answered by then, so that nothing has to be finished. One
// that stops by itself when it is asked to gets time for that: it may have to give up what other instances wait for.
func startUnless(asked <-chan struct{}, stops bool, start func() (*service, error)) (*service, error) {
	type result struct {
		running *service
		err     error
	}
	began := make(chan result, 1)
	go func() {
		running, err := start()
		began <- result{running, err}
	}()
	select {
	case r := <-began:
		return r.running, r.err
	case <-asked:
		for late := time.After(shutdownTimeout); stops; {
			select {
			case r := <-began:
				return r.running, r.err
			case <-late:
				stops = false
			}
		}
		return nil, startup("asked to end while starting; nothing was served")
	}
}

// start opens everything that a service needs. What fails here is a startup error.
func start(l launch) (*service, error) {
	s, log := l.settings, l.log
	boot, unread := ReadBoot(s)
	if unread != nil && (!boot.foreign || !hasRecord(s)) {
		return nil, unread
	}
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		return nil, startup("the data folder can't be made: %v; SVC_DATA_DIR names it", err)
	}
	guard := clock.NewGuarded(TimeSources())
	clock := clock.Clock(guard.Now)
	running := &service{
		signed:   map[string]ledger.Head{},
		settings: s, current: s, again: l.again, log: log, level: l.level, clock: clock, calls: system.Real(clock), guard: guard, boot: boot, metrics: metrics.New(), deliveries: webhook.NewHistory(),
		slots: newSlots(clock, s.TrustedProxies, s.PeerListen != ""), failed: make(chan error, 16),
	}
	running.proof = l.proof
	if err := running.open(l); errors.Is(err, pgledger.ErrStopped) {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
		defer cancel()
		return nil, errors.Join(err, shutDown(ctx, running.clients)) // requests that are passed on end
	} else if err != nil {
		return nil, startup("%v", err)
	}
	if err := running.agree(unread); err != nil {
		return nil, errors.Join(err, running.close())
	}
	debug.FreeOSMemory() // what replaying left behind would stay for long: the heap may grow many times over
	if err := running.checkRecord(context.Background(), l.proof); err != nil {
		return nil, errors.Join(startup("%v", err), running.close())
	}
	if err := running.beginClock(context.Background()); err != nil {
		return nil, errors.Join(startup("%v", err), running.close())
	}
	if err := running.wire(); err != nil {
		return nil, errors.Join(startup("%v", err), running.close())
	}
	return running, nil
}

// open reads the signing keys, and opens the ledger, for which it may have to wait until another instance ends.
func (r *service) open(l launch) (err error) {
	if err := r.listenPeers(); err != nil {
		return err
	}
	if r.store, err = r.newStore(l.asked); err != nil {
		return err
	}
	if r.signer, err = r.readSigner(); err != nil {
		return fmt.Errorf("signing keys: %w", err)
	}
	if err := r.standBy(l.hangUps); err != nil {
		return err
	}
	if err := r.openLedger(l.moved); err != nil {
		return err
	}
	if err := r.sameSigner(); err != nil { // two may have started at the same time
		return errors.Join(err, r.closeLedger())
	}
	if r.many != nil { // each slot begins as it is opened
		return nil
	}
	if err := r.beginSending(0, r.ledger); err != nil {
		return errors.Join(err, r.closeLedger())
	}
	return nil
}

// run serves until signals ends or something fails, then finishes what is in flight. From then on stop has left signals
// to do what they do by default. Each of hangUps reloads the default policy.
func (r *service) run(signals context.Context, stop func(), hangUps <-chan os.Signal) error {
	r.endWaiting()
	r.deciding.Store(r.ready)
	for _, one := range slices.Concat(r.clients, r.passing, r.operator) {
		if one.serves {
			continue
		}
		go func() { r.failed <- one.http.Serve(one.listener) }()
	}
	if err := r.startWork(hangUps); err != nil {
		return errors.Join(err, r.close())
	}
	r.announce()
	r.notify(daemon.SdNotifyReady)
	return errors.Join(r.await(signals, stop), r.close())
}

// await returns when signals ends, or what has failed before.
func (r *service) await(signals context.Context, stop func()) error {
	select {
	case <-signals.Done():
		stop() // first of all: a slow reader of the log may keep its next line waiting
		r.log.Info("stopping; a second signal ends at once")
		return nil
	case fault := <-r.failed:
		return fault
	}
}

func (r *service) close() error { return r.closeWithin(shutdownTimeout) }
