package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/httpd"
	"bailiff/httpd/strict"
	"bailiff/runtime/clock"
	"bailiff/runtime/ledger/slots"
)

// server is one of the service's HTTP servers with its listener.
type server struct {
	http interface {
		Serve(net.Listener) error
		Shutdown(context.Context) error
	}
	listener net.Listener
	serves   bool // already
}

// shutDown stops servers at the same time, and finishes what is in flight.
func shutDown(ctx context.Context, servers []server) error {
	faults := make([]error, len(servers))
	var all sync.WaitGroup
	for i, one := range servers {
		all.Go(func() {
			if one.http != nil {
				faults[i] = one.http.Shutdown(ctx)
			}
			one.listener.Close() // closed already, unless its server never ran
		})
	}
	all.Wait()
	return errors.Join(faults...)
}

// newSlots bounds connections by the files that this process may open; nil where that is not known. A request that is passed on has two
// connections.
func newSlots(clock clock.Clock, proxies []netip.Prefix, passes bool) *strict.Slots {
	room, known := strict.RoomByFiles()
	if !known {
		return nil
	}
	if passes {
		room = max(1, room/2)
	}
	return strict.NewSlots(room, clock, proxies, httpd.SourceOf)
}

// scheme is how the addresses of the API begin.
func (r *service) scheme() string {
	if r.settings.TLSCert != "" {
		return "https://"
	}
	return "http://"
}

// publicURL is where clients reach the API; empty where no setting says so, and clients cannot connect to the address listened on.
func (r *service) publicURL() string {
	if set := r.settings.PublicURL; set != "" {
		return string(set)
	}
	if at, err := netip.ParseAddrPort(r.address); err == nil && at.Addr().IsUnspecified() {
		return ""
	}
	return r.scheme() + r.address
}

// listenAPI opens the API's listener, and returns where its server belongs.
func (r *service) listenAPI() (index int, err error) {
	if r.address != "" {
		return 0, nil // it is the first
	}
	api, err := strict.Listen(string(r.settings.Listen))
	if err != nil {
		return 0, fmt.Errorf("SVC_LISTEN: %w", err)
	}
	r.address = api.Addr().String()
	listener := strict.NewRetryingListener(api, r.slots, r.clock, r.log)
	if r.settings.TLSCert != "" {
		listener = strict.NewTLSListener(listener, showing(&r.certificates.api))
	}
	r.clients = append(r.clients, server{listener: listener})
	return len(r.clients) - 1, nil
}

// listenBeside opens the listeners beside the API's: the API's socket, the internal one, the admin socket, the monitor, the profiler.
func (r *service) listenBeside(config httpd.Config) error {
	if err := r.listenSocket(config); err != nil {
		return err
	}
	if r.settings.InternalListen != "" {
		internal, err := r.listenMutual()
		if err != nil {
			return fmt.Errorf("SVC_INTERNAL_LISTEN: %w", err)
		}
		r.clients = append(r.clients, server{http: httpd.NewInternal(r.decider, r.confirm, r.log), listener: internal})
	}
	socket, err := listenPrivate(r.settings.AdminSocket())
	if err != nil {
		return fmt.Errorf("the admin socket: %w", err)
	}
	admin := httpd.NewAdmin(r.admin, r.confirm, r.log)
	admin.GiveConsole(r.operating)
	if config.Approve != nil {
		admin.GiveApprovals(config.Approve.Approvals, r.pagesAt, r.passCommand)
	}
	admin.Answers(&r.commands)
	r.operator = append(r.operator, server{http: admin, listener: strict.NewRetryingListener(socket, nil, r.clock, r.log)})
	if r.store == nil { // otherwise it serves since this instance has waited
		if err := r.addMonitor(); err != nil {
			return err
		}
	}
	return r.listenProfiler()
}

// addMonitor opens the listener of metrics, if there is to be one.
func (r *service) addMonitor() error {
	monitor, err := r.listenMonitor()
	if monitor != nil {
		r.operator = append(r.operator, server{http: httpd.NewMonitor(r.metrics, r.checks, r.log), listener: monitor})
	}
	return err
}

// serveMonitor serves metrics from now on.
func (r *service) serveMonitor() error {
	if err := r.addMonitor(); err != nil {
		return err
	}
	for i := range r.operator {
		one := &r.operator[i]
		one.serves = true
		go func() { r.failed <- one.http.Serve(one.listener) }()
	}
	return nil
}

// listenProfiler opens the listener of profiles, if there is to be one.
func (r *service) listenProfiler() error {
	address := string(r.settings.PprofListen.Address)
	if address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("SVC_PPROF_LISTEN: %w", err)
	}
	r.log.Warn("profiles are served without an API key, and show the memory of the service", "address", listener.Addr().String())
	r.operator = append(r.operator, server{http: httpd.NewProfiler(r.log), listener: listener})
	return nil
}

// listenSocket opens the socket of the API, if there is to be one. Its server has limits, budgets and connections in common
// with the other.
func (r *service) listenSocket(config httpd.Config) error {
	path := string(r.settings.ListenUnix)
	if path == "" {
		return nil
	}
	socket, err := listenUnix(path, fs.FileMode(r.settings.ListenUnixMode))
	if err != nil {
		return fmt.Errorf("SVC_LISTEN_UNIX: %w", err)
	}
	api, err := httpd.New(config)
	if err != nil {
		return errors.Join(err, socket.Close())
	}
	r.apis = append(r.apis, api)
	r.clients = append(r.clients, server{http: api, listener: strict.NewRetryingListener(socket, r.slots, r.clock, r.log)})
	return nil
}

// listenMonitor opens the listener of metrics, nil for none. Where somebody else has the default port, as
// with several services on one machine, the service goes on without; an address that was asked for has to be free.
func (r *service) listenMonitor() (net.Listener, error) {
	address := string(r.settings.AdminListen.Address)
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return listener, nil
	case DoesWithout(address, err):
		r.log.Warn("no metrics are served: the address is in use; set SVC_ADMIN_LISTEN to another, or to off", "address", address)
		return nil, nil
	}
	return nil, fmt.Errorf("SVC_ADMIN_LISTEN: %w", err)
}

// DoesWithout reports whether a service goes on without metrics where it can't listen for who reads them.
func DoesWithout(address string, err error) bool {
	return address == string(cmdsettings.Defaults().AdminListen.Address) && errors.Is(err, syscall.EADDRINUSE)
}

// listenPrivate listens on a Unix socket that only this user can open. One that an earlier process left is
// replaced: the process that holds the ledger owns the data folder.
func listenPrivate(path string) (net.Listener, error) {
	if err := CheckSocketPath(path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	defer syscall.Umask(syscall.Umask(0o177))
	return net.Listen("unix", path)
}

// passCommand takes a command to the instance that has the pages whose sessions are in memory.
func (r *service) passCommand(ctx context.Context, method, path string, body []byte) (status int, answer []byte, err error) {
	if r.peers.passing == nil {
		return 0, nil, slots.ErrElsewhere
	}
	return r.peers.passing.Command(ctx, method, path, body)
}

// pagesAt returns the name of the instance that has the pages whose sessions are in memory, "" where none is known, or that this one has.
func (r *service) pagesAt() (instance string, here bool) {
	if r.many == nil {
		return "", true
	}
	if stay, here := r.many.Enter(0); here {
		stay.Leave()
		return "", true
	}
	return r.instanceOf(0).Name, false
}
