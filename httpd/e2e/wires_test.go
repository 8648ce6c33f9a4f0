package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bailiff/fuzz/kit/pgtest"
	"bailiff/fuzz/kit/port"
	"bailiff/fuzz/kit/wire"
)

// wire puts wires between an instance and the servers of the database, and between it and the other instances.
func (i *instance) wire() {
	f := i.f
	f.t.Helper()
	root, err := os.MkdirTemp("", "bailiff-wires-") // not f.dir: the path of a socket is short
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { os.RemoveAll(root) })
	var folders []string
	for n, server := range []*pgtest.Server{f.primary, f.standby} {
		folder := filepath.Join(root, fmt.Sprint(n))
		if err := os.Mkdir(folder, 0o700); err != nil {
			f.t.Fatal(err)
		}
		listener, err := net.Listen("unix", filepath.Join(folder, filepath.Base(server.Socket())))
		if err != nil {
			f.t.Fatal(err)
		}
		folders = append(folders, folder)
		i.toStore = append(i.toStore, wire.New(f.t, listener, "unix", server.Socket()))
	}
	i.env = append(i.env, "SVC_STORE=postgres:///postgres?user="+storeRole+"&host="+strings.Join(folders, ","))
	if !f.passing {
		return
	}
	address, err := port.FreeAddress()
	if err != nil {
		f.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	i.toIt = wire.New(f.t, listener, "tcp", address)
	i.env = append(i.env, "SVC_PEER_LISTEN="+address, "SVC_PEER_ADDRESS="+i.toIt.Address())
}

// slowStore holds the owner's wires to the database for a part of its lease: its clients wait, and nothing else happens.
func (f *failover) slowStore() string {
	owner, _ := f.owner()
	owner.store(wire.Holds)
	time.Sleep(failoverLease / 3)
	owner.store(wire.None)
	if still, _ := f.owner(); still != owner {
		f.t.Error("an owner was replaced whose wires were held for a third of its lease")
	}
	return "owner's wires to the database held for a third of its lease"
}

// lostStore has the owner's wires to the database fail until another instance decides.
func (f *failover) lostStore(fault wire.Fault) func() string {
	return func() string {
		owner, other := f.owner()
		owner.store(fault)
		f.await("the other instance decides", func() bool { now, _ := f.owner(); return now == other })
		owner.store(wire.None)
		return "owner's wires to the database: " + faultNames[fault]
	}
}

func (i *instance) store(fault wire.Fault) {
	for _, w := range i.toStore {
		w.Set(fault)
	}
}

var faultNames = map[wire.Fault]string{wire.Holds: "held", wire.Answers: "answers held", wire.Requests: "requests held", wire.Cut: "cut"}

// lostPeer has the wire fail by which the owner gets requests from other instances.
func (f *failover) lostPeer(fault wire.Fault) func() string {
	return func() string {
		owner, _ := f.owner()
		owner.toIt.Set(fault)
		time.Sleep(failoverLease / 2)
		owner.toIt.Set(wire.None)
		return "wire to the owner from another instance: " + faultNames[fault]
	}
}

// frozeStandby has the only standby hang. Nothing is confirmed without it.
func (f *failover) frozeStandby() string {
	f.withoutStandby(func() { time.Sleep(failoverLease / 2) })
	return "standby frozen for half a lease"
}

// cancelledWaits has the only standby hang, and cancels what waits for it.
func (f *failover) cancelledWaits() string {
	f.withoutStandby(func() {
		for range 5 {
			f.primary.CancelWaits()
			time.Sleep(failoverLease / 10)
		}
	})
	return "standby frozen for half a lease, and waits for it cancelled"
}

// withoutStandby has the only standby hang meanwhile. Nothing that is asked then may be told.
func (f *failover) withoutStandby(meanwhile func()) {
	f.t.Helper()
	thaw := f.standby.Freeze()
	f.setAlone(time.Now())
	meanwhile()
	early := f.setAlone(time.Time{})
	thaw()
	if early > 0 {
		f.t.Errorf("%d decisions were told while the only standby hung", early)
	}
}

// setAlone notes since when the primary has no standby, and returns how many decisions were told until now that were asked for since then.
func (f *failover) setAlone(since time.Time) (early int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	early, f.early, f.alone = f.early, 0, since
	return early
}

// wentBack starts the primary that was replaced, with the older state that it has, as a restored database is. The instance that decided
// last notices that records are missing, and does not start.
func (f *failover) wentBack() {
	f.t.Helper()
	owner, _ := f.owner()
	f.ending.Store(true)
	for _, i := range f.instances {
		i.signal(syscall.SIGTERM)
		<-i.ended
	}
	f.old.Alone()
	command := exec.Command(owner.program, "serve")
	command.Env, command.Dir = append(owner.env, "SVC_STORE="+f.old.URL(), "SVC_STORE_SYNC=trust"), f.dir
	watch := time.AfterFunc(30*time.Second, func() { _ = command.Process.Kill() })
	defer watch.Stop()
	said, err := command.CombinedOutput()
	f.t.Logf("over the primary that was replaced: %s", said[strings.LastIndexByte(strings.TrimSpace(string(said)), '\n')+1:])
	if err == nil || command.ProcessState.ExitCode() != 1 || !strings.Contains(string(said), "checkpoint") {
		f.t.Errorf("a database with an older state: %v\n%s", err, said)
	}
	create := exec.Command(owner.program, "keys", "create", "--email", "late@example.com")
	create.Env, create.Dir = command.Env, f.dir
	if said, err := create.CombinedOutput(); err == nil || !strings.Contains(string(said), "records are MISSING") {
		f.t.Errorf("a command over a database with an older state: %v\n%s", err, said)
	}
}
