package e2e

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	clusterAt    = flag.String("cluster", "", "the address of the balancer of TestRunCluster, which then runs until it is interrupted")
	clusterSlots = flag.Int("slots", 1, "how many slots the store of that cluster has")
)

// A balancer passes connections to instances in turn. It knows nothing of them but whether they take one.
type balancer struct {
	net.Listener
	of   []*instance
	next atomic.Int64
}

func (b *balancer) run() {
	for {
		client, err := b.Accept()
		if err != nil {
			return
		}
		go b.pass(client)
	}
}

func (b *balancer) pass(client net.Conn) {
	defer client.Close()
	for range b.of {
		at := b.of[int(b.next.Add(1))%len(b.of)].address()
		if at == "" {
			continue
		}
		instance, err := net.DialTimeout("tcp", at[len("http://"):], time.Second)
		if err != nil {
			continue
		}
		defer instance.Close()
		go func() {
			_, _ = io.Copy(instance, client) // either end may go
			_ = instance.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(client, instance)
		return
	}
}

// TestRunCluster is what make run-cluster runs: a PostgreSQL primary and its standby, three instances, and a balancer in front of them,
// for people to break. Without the flag it asks such a cluster a few questions, and ends.
func TestRunCluster(t *testing.T) {
	at := *clusterAt
	if at == "" {
		at = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatalf("%v; give the balancer another address: make run-cluster AT=127.0.0.1:8797", err)
	}
	defer listener.Close()
	f := newFailoverOf(t, true, *clusterSlots, "one", "two", "three")
	defer f.end()
	b := &balancer{Listener: listener, of: f.instances}
	go b.run()
	front := &running{site: f.site, base: "http://" + listener.Addr().String()}
	f.await("all instances are ready", func() bool {
		for _, i := range f.instances {
			if base := i.address(); base == "" {
				return false
			} else if status, _, _ := (&running{site: f.site, base: base}).get("/readyz"); status != 200 {
				return false
			}
		}
		return true
	})
	if *clusterSlots > 1 {
		f.share()
		f.key = f.second(f.instances[0]).APIKey
	}
	ask := tool("bash", `"command":"ls","task_id":"one"`)
	if *clusterAt == "" {
		f.asksBalancer(front, ask)
		return
	}
	f.explain(front.base, ask)
	f.untilInterrupted()
}

// untilInterrupted lets people break the cluster.
func (f *failover) untilInterrupted() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	lost, ticker := f.primary.Ended(), time.NewTicker(time.Second)
	defer ticker.Stop()
	pids := map[string]int{}
	for _, i := range f.instances {
		pids[i.name] = i.pid()
	}
	for {
		select {
		case <-interrupted:
			return
		case <-ticker.C:
			for _, i := range f.instances {
				if pid := i.pid(); pid != 0 && pid != pids[i.name] {
					pids[i.name] = pid
					fmt.Printf("  kill -9 %d   # instance %s, which was started again\n", pid, i.name)
				}
			}
		case <-lost:
			f.promote()
			lost = nil
			fmt.Println("the primary was lost, and the standby was promoted, once: to lose that one, too, start all of this again")
		}
	}
}

// asksBalancer asks a few questions by way of the balancer, also after the instance that decides was lost.
func (f *failover) asksBalancer(front *running, ask string) {
	f.t.Helper()
	owner, _ := f.owner()
	for n := range 2 * len(f.instances) {
		if n == 2 {
			owner.held.Store(true)
			owner.signal(syscall.SIGKILL)
			f.await("it has ended", func() bool { return owner.address() == "" })
		}
		got := front.ask("/v1/authorize", f.key, ask)
		for unknown := 0; strings.Contains(string(got.Raw), "may or may not") && unknown < len(f.instances); unknown++ {
			got = front.ask("/v1/authorize", f.key, ask) // it was sent over a connection that was kept to the instance that is gone
		}
		if got.Status != "ALLOWED" {
			f.t.Errorf("request %d by the balancer: %d %s", n, got.HTTP, got.Raw)
		}
	}
}

// explain says what to paste, and what to kill.
func (f *failover) explain(base, ask string) {
	who := "One instance decides, and two pass requests on to it"
	if *clusterSlots > 1 {
		who = fmt.Sprintf("Each instance decides for the keys of its share of %d slots, and passes other requests on", *clusterSlots)
	}
	fmt.Printf("\n%s. The balancer gives a request to any of them:\n\n  curl -s %s/v1/authorize -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '%s'\n\n", who, base, f.key, strings.Replace(ask, `"one"`, `"'$(date +%N)'"`, 1)) // a task has a limit
	fmt.Println("Ask again and again while you lose one of these; instances are started again, and the standby is promoted:")
	for _, i := range f.instances {
		fmt.Printf("  kill -9 %d   # instance %s at %s\n", i.pid(), i.name, i.address())
	}
	fmt.Printf("  kill -9 %d   # the primary\n\nWho decides:\n\n  ", f.primary.PID())
	store := map[string]string{} // of settings with one name the last one counts
	for _, setting := range f.env {
		if name, value, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "SVC_STORE") {
			store[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(store)) {
		fmt.Printf("%s='%s' ", name, store[name])
	}
	fmt.Printf("bin/bailiff store status\n\nCtrl-C ends all of it.\n\n")
}

// pid returns the id of the instance's process.
func (i *instance) pid() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.process == nil {
		return 0
	}
	return i.process.Process.Pid
}
