package e2e

import (
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"bailiff/fuzz/kit/wire"
)

// A slotFault is what happens to an instance of several that decide.
type slotFault struct {
	name string
	do   func(i *instance)
	of   *instance // the one that it happens to; nil for any
}

// slotFaults are the faults of an instance and its wires.
func (f *failover) slotFaults() []slotFault {
	wired := func(name string, set func(i *instance, fault wire.Fault), fault wire.Fault, long time.Duration) slotFault {
		return slotFault{name: name + " " + faultNames[fault] + " for " + long.String(), do: func(i *instance) {
			set(i, fault)
			time.Sleep(long)
			set(i, wire.None)
		}}
	}
	peer := func(i *instance, fault wire.Fault) { i.toIt.Set(fault) }
	long, short := 3*failoverLease/2, failoverLease/3
	last := f.instances[len(f.instances)-1]
	all := []slotFault{
		{name: "instance lost", do: func(i *instance) {
			i.held.Store(true)
			i.signal(syscall.SIGKILL)
			time.Sleep(long)
			i.held.Store(false)
		}},
		{name: "instance killed and started again", do: func(i *instance) { i.signal(syscall.SIGKILL) }},
		{name: "instance asked to end", do: func(i *instance) { i.signal(syscall.SIGTERM) }},
		{name: "instance paused for longer than its lease", do: func(i *instance) {
			i.signal(syscall.SIGSTOP)
			time.Sleep(long)
			i.signal(syscall.SIGCONT)
		}},
		{name: "instance paused for less than its lease", do: func(i *instance) {
			i.signal(syscall.SIGSTOP)
			time.Sleep(short)
			i.signal(syscall.SIGCONT)
		}},
		wired("wires to the database", (*instance).store, wire.Holds, short),
		wired("wires to the database", (*instance).store, wire.Holds, long),
		wired("wires to the database", (*instance).store, wire.Answers, long),
		wired("wires to the database", (*instance).store, wire.Requests, long),
		wired("wires to the database", (*instance).store, wire.Cut, long),
		wired("wire from other instances", peer, wire.Holds, long),
		wired("wire from other instances", peer, wire.Answers, long),
		wired("wire from other instances", peer, wire.Requests, long),
		wired("wire from other instances", peer, wire.Cut, long),
		{name: "each instance asked to end in turn", do: func(*instance) { f.restart() }},
		{name: "standby frozen", do: func(*instance) { f.frozeStandby() }},
		{name: "standby frozen, and waits for it cancelled", do: func(*instance) { f.cancelledWaits() }},
		{name: "service frozen while another instance is paused", do: f.freezes},
	}
	if os.Getenv(binarySetting) == "" {
		all = append(all, slotFault{name: "clock three minutes ahead", do: f.aheadOfTime, of: last}, slotFault{name: "clock three minutes behind from its start", do: f.behindTime, of: last})
	}
	if previous() != "" {
		all = append(all, slotFault{name: "instance started with another commit", do: f.otherRelease, of: f.instances[1]})
	}
	return all
}

// previous is the path of the command of an earlier commit, which one of the instances has then as in an update; "" where there is none.
func previous() string { return os.Getenv("BAILIFF_PREVIOUS") }

// differ starts the instances again that are not as the others: the clock of the last one can be set, and the second one is of an earlier
// commit, where one is named.
func (f *failover) differ() {
	f.t.Helper()
	if os.Getenv(binarySetting) == "" { // a command with a planted fault is that of all
		last := f.instances[len(f.instances)-1]
		last.mu.Lock()
		last.env = append(last.env, clockSetting+"="+f.path("clock"))
		last.mu.Unlock()
		last.becomes(built(f.t, withClock))
	}
	if previous() != "" {
		f.instances[1].becomes(previous())
	}
}

// otherRelease replaces this release by the one before it, or that one by this.
func (f *failover) otherRelease(i *instance) {
	i.mu.Lock()
	now := i.program
	i.mu.Unlock()
	if now == binary {
		i.becomes(previous())
	} else {
		i.becomes(binary)
	}
}

// balance puts a balancer in front, which knows nothing of slots.
func (f *failover) balance() {
	f.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { listener.Close() })
	b := &balancer{Listener: listener, of: f.instances}
	go b.run()
	f.front = "http://" + listener.Addr().String()
}

// aheadOfTime sets the clock of an instance ahead while it decides. It leaves its slots to others, and never runs back: once the clock is right
// again the instance has to be started again.
func (f *failover) aheadOfTime(i *instance) {
	f.write("clock", "3m")
	time.Sleep(3 * failoverLease / 2)
	if status, _, body := (&running{site: f.site, base: i.address()}).get("/readyz"); status == 200 {
		f.t.Errorf("an instance whose clock is three minutes ahead is ready: %s", body)
	}
	f.write("clock", "")
	i.becomes(i.program)
}

// behindTime starts an instance with a clock that is behind. It ends, until the clock is right.
func (f *failover) behindTime(i *instance) {
	before := len(i.log.String())
	f.write("clock", "-3m")
	i.signal(syscall.SIGTERM)
	f.await("the instance says that its clock is off", func() bool {
		return strings.Contains(i.log.String()[before:], "the clock of this machine and that of the database differ")
	})
	f.write("clock", "")
}

// freezes freezes the service at an instance while another one is paused, and thaws it. From the moment at which the command returns nothing is
// allowed, also by the instance that hears of it late.
func (f *failover) freezes(i *instance) {
	f.t.Helper()
	other := f.instances[(slices.Index(f.instances, i)+1)%len(f.instances)]
	other.signal(syscall.SIGSTOP)
	paused := time.AfterFunc(failoverLease/3, func() { other.signal(syscall.SIGCONT) })
	defer paused.Stop()
	f.await("the service is frozen", func() bool {
		_, err := f.on(i, "freeze", "--reason", "drill")
		return err == nil
	})
	f.setFrozen(time.Now())
	time.Sleep(failoverLease)
	f.setFrozen(time.Time{})
	f.await("the service is thawed", func() bool {
		_, err := f.on(i, "thaw", "--key", "operator.key")
		return err == nil
	})
}

func (f *failover) setFrozen(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = at
}
