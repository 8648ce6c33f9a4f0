package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/httpd"
	"bailiff/httpd/peers"
	"bailiff/httpd/strict"
	"bailiff/runtime/system"
)

const (
	// standbyPatience is how much longer than a lease a request waits for an instance that decides.
	standbyPatience = 2 * time.Second
	// peerDialTime bounds connecting to another instance: clients wait meanwhile.
	peerDialTime = time.Second
	// askPeerEvery is how often an instance that passes requests on asks the other one whether it is ready.
	askPeerEvery = time.Second
	// maxPassing is how many instances may pass requests on to one and fill their connections, without one that ends those of another.
	maxPassing = 4
)

// listenPeers opens the listener for requests that other instances pass on, if there is to be one.
func (r *service) listenPeers() error {
	s := r.settings
	if s.PeerListen == "" {
		return nil
	}
	plain, err := strict.Listen(string(s.PeerListen))
	if err != nil {
		return fmt.Errorf("SVC_PEER_LISTEN: %w", err)
	}
	r.peers.address = string(s.PeerAddress)
	if r.peers.address == "" {
		r.peers.address = plain.Addr().String()
	}
	r.peers.connections = strict.MaxPerSource / 2
	var slots *strict.Slots // its own: those who fill the API's keep no instance out
	if room, known := strict.RoomByFiles(); known {
		slots = strict.NewSlots(max(1, room/4), r.clock, nil, httpd.SourceOf)
		r.peers.connections = min(r.peers.connections, max(1, room/4/maxPassing))
	}
	r.peers.listener = strict.NewRetryingListener(plain, slots, r.clock, r.log)
	return nil
}

// securePeers has the listener for other instances take none but those.
func (r *service) securePeers() error {
	if r.peers.listener == nil {
		return nil
	}
	id, err := r.store.ID()
	if err != nil {
		return err
	}
	r.peers.domain = cmdsettings.PeerDomain(id)
	if shown := r.certificates.peer.Load(); shown != nil {
		if err := r.namesThis(shown); err != nil {
			return err
		}
		r.peers.listener = tls.NewListener(r.peers.listener, &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: r.takePeer})
	}
	return nil
}

// awaitPeers refuses what other instances pass on as long as this one does not decide.
func (r *service) awaitPeers() (err error) {
	if r.peers.listener == nil {
		return nil
	}
	config := r.standbyConfig()
	config.Pass, config.Passed = nil, true // a request is passed on once
	if r.passed, err = httpd.NewStandby(r.peers.listener, config); err != nil {
		return err
	}
	r.clients = append(r.clients, server{http: r.passed, listener: r.peers.listener})
	return nil
}

// namesThis returns an error where a certificate is not of this instance.
func (r *service) namesThis(shown *tls.Config) error {
	leaf, name := shown.Certificates[0].Leaf, r.peerName(r.store.Name())
	if leaf.VerifyHostname(name) == nil {
		return nil
	}
	return fmt.Errorf("SVC_PEER_CERT is of %s, and this instance is %s at this store; have its certificate made for that name", clip(strings.Join(leaf.DNSNames, " and ")), name)
}

// peerName is how certificates name an instance.
func (r *service) peerName(instance string) string { return instance + r.peers.domain }

// takePeer is the set-up of a connection from another instance of this store.
func (r *service) takePeer(*tls.ClientHelloInfo) (*tls.Config, error) {
	config := r.certificates.peer.Load().Clone()
	config.VerifyConnection = func(state tls.ConnectionState) error {
		for _, name := range state.PeerCertificates[0].DNSNames {
			if instance, ok := strings.CutSuffix(strings.ToLower(name), r.peers.domain); ok && cmdsettings.HostName(instance) {
				return nil
			}
		}
		return errors.New("the certificate is not of an instance of this store")
	}
	return config, nil
}

// onMachine refuses to connect to another machine.
func onMachine(_, address string, _ syscall.RawConn) error {
	if host, _, err := net.SplitHostPort(address); err != nil || !cmdsettings.Loopback(host) {
		return fmt.Errorf("%s is on another machine, and API keys would travel without TLS; set SVC_PEER_CERT, SVC_PEER_KEY and SVC_PEER_CA on all instances", address)
	}
	return nil
}

// dialPeer connects to another instance.
func (r *service) dialPeer(ctx context.Context, to peers.Instance) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, peerDialTime)
	defer cancel()
	shown := r.certificates.peer.Load()
	var control system.Control
	if shown == nil {
		control = onMachine
	}
	plain, err := r.calls.Dial(ctx, "tcp", to.Peer, control)
	if err != nil || shown == nil {
		return plain, err
	}
	config := shown.Clone()
	config.ServerName = r.peerName(to.Name)
	conn := tls.Client(plain, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	return conn, nil
}

// askPeer asks the instance that decides, again and again, whether it is ready: if so, this one is as well.
func (r *service) askPeer(ctx context.Context) {
	var known string
	for ticker := time.NewTicker(askPeerEvery); ; {
		check := r.askOnce(ctx)
		r.peers.ready.Store(&check)
		if said := fmt.Sprint(check.Ready, check.Reason); said != known {
			known = said
			r.log.Info("passing requests on", "ready", check.Ready, "reason", check.Reason)
		}
		select {
		case <-ctx.Done():
			ticker.Stop()
			return
		case <-ticker.C:
		}
	}
}

// askOnce asks the instance that decides whether it is ready.
func (r *service) askOnce(ctx context.Context) httpd.Check {
	check := httpd.Check{Name: "service"}
	to := r.instanceOf(0)
	switch {
	case to.Gone == nil:
		check.Reason = "no instance decides that is known here"
		return check
	case to.Peer == "":
		check.Reason = "the instance that decides takes no requests from others"
		return check
	}
	ctx, cancel := context.WithTimeout(ctx, 2*askPeerEvery)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return r.dialPeer(ctx, to) }}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://bailiff/readyz", nil)
	if err == nil {
		request.Header.Set(peers.From, "127.0.0.1:1")
		var response *http.Response
		if response, err = transport.RoundTrip(request); err == nil {
			_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
			err = errors.Join(err, response.Body.Close())
			check.Ready = err == nil && response.StatusCode == http.StatusOK
		}
	}
	switch {
	case check.Ready:
		check.Reason = "another instance decides, and this one passes requests on to it"
	case untrusted(err):
		r.log.Warn("the certificate of the instance that decides is not good", "instance", to.Name, "address", to.Peer, "error", cli.Plain(err))
		check.Reason = "the certificate of the instance that decides is not good"
	case err != nil:
		check.Reason = "the instance that decides can't be reached"
	default:
		check.Reason = "the instance that decides is not ready"
	}
	return check
}

// instanceOf is the instance that has a slot that is not here.
func (r *service) instanceOf(slot int) peers.Instance {
	owner := r.store.OwnerOf(slot)
	if owner == nil {
		return peers.Instance{}
	}
	return peers.Instance{Name: owner.Name, Peer: owner.Peer, Gone: owner.Gone()}
}

// watchPeers asks the instances that have slots, again and again, whether they can be reached.
func (r *service) watchPeers(ctx context.Context) error {
	began, asked, reached := r.clock(), map[string]bool{}, 0
	for slot := range r.many.Slots() {
		to := r.instanceOf(slot)
		if to.Gone == nil || to.Peer == "" || asked[to.Name] {
			continue
		}
		asked[to.Name] = true
		asking, cancel := context.WithTimeout(ctx, 2*askPeerEvery)
		err := r.peers.passing.Reach(asking, to)
		cancel()
		if err == nil {
			reached++
		}
		r.peers.note(to.Name, err, began)
	}
	maps.DeleteFunc(r.peers.unreached, func(name string, _ unreached) bool { return !asked[name] })
	if reached == 0 && len(asked) > 1 {
		r.peers.alone.CompareAndSwap(0, began.UnixNano())
	} else {
		r.peers.alone.Store(0)
	}
	r.tellUnreached()
	return nil
}

// note notes whether an instance was reached.
func (p *peering) note(name string, err error, at time.Time) {
	if err == nil {
		delete(p.unreached, name)
		return
	}
	if p.unreached == nil {
		p.unreached = map[string]unreached{}
	}
	since := at
	if before, known := p.unreached[name]; known {
		since = before.since
	}
	p.unreached[name] = unreached{since, err}
}

// tellUnreached says which instances could not be reached for long: one that was lost is not known any more by then.
func (r *service) tellUnreached() {
	var names, faults []string
	for _, name := range slices.Sorted(maps.Keys(r.peers.unreached)) {
		one := r.peers.unreached[name]
		if r.clock().Sub(one.since) <= r.peerPatience() {
			continue
		}
		faults = append(faults, fmt.Sprintf("%s: %s", name, cli.Plain(one.err)))
		if untrusted(one.err) {
			name += ", whose certificate is not good"
		}
		names = append(names, name)
	}
	said := strings.Join(names, "; ")
	before := r.peers.missed.Swap(&said)
	r.peers.missing.Store(int64(len(names)))
	switch {
	case before != nil && *before == said, before == nil && said == "":
	case said == "":
		r.log.Info("all instances that have slots can be reached again")
	default:
		r.log.Warn("instances can't be reached that have slots: requests for the API keys of these are refused here, and the service can't be frozen where slot 0 is theirs; "+
			"look at the network between them, and at SVC_PEER_CA and SVC_PEER_CERT of both", "instances", strings.Join(faults, "; "))
	}
}

// untrusted reports whether an instance can't be reached because of its certificate.
func untrusted(err error) bool {
	var refused *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &refused) || errors.As(err, &unknown)
}

// peerPatience is how long another instance may be out of reach until that is told.
func (r *service) peerPatience() time.Duration {
	return 2*time.Duration(r.settings.StoreLease) + standbyPatience
}

// checkPeers finds that this instance can reach no other one, of which there are at least two: they can reach each other. Where it is one of two, or
// reaches some, it is ready, and says which it does not reach.
func (r *service) checkPeers() httpd.Check {
	check := httpd.Check{Name: "peers", Ready: true, Reason: "other instances can be reached, or there are none"}
	of := ""
	if missed := r.peers.missed.Load(); missed != nil && *missed != "" {
		of = ": " + *missed
		check.Reason = "these instances can't be reached, so that keys of their slots are refused here" + of
	}
	if since := r.peers.alone.Load(); since != 0 && r.clock().Sub(time.Unix(0, since)) > r.peerPatience() {
		check.Ready = false
		check.Reason = "no other instance can be reached, so that keys of their slots are refused here" + of
	}
	return check
}
