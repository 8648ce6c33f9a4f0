package e2e

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailiff/fuzz/kit/seed"
	"bailiff/runtime/ledger"
	pebbleledger "bailiff/runtime/ledger/pebble"
)

const toolPolicy = `version: 2.4.0

## tool_calls
allowed: bash
bash.blocked_commands: rm -rf
bash.require_approval: git push

## execution_limits
max_tool_calls_per_task: %d
`

// bash returns a request for a command of a task, with a commitment of its own.
func bash(task, command string, n int64) (body string, commitment [32]byte) {
	commitment = sha256.Sum256(fmt.Appendf(nil, "%s %d", task, n))
	return fmt.Sprintf(`{"framework":"custom","agentId":"agent-1","txCommit":"%s","intent":{"action":"bash","command":%q,"task_id":%q}}`,
		hex.EncodeToString(commitment[:]), command, task), commitment
}

// acknowledged is what clients were told before the service died.
type acknowledged struct {
	mu       sync.Mutex
	decision map[[32]byte]string
	allowed  map[string]uint64 // by task
}

func (a *acknowledged) add(task string, commitment [32]byte, got answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.decision[commitment] = got.Status
	if got.Status == "ALLOWED" {
		a.allowed[task]++
	}
}

// TestKillUnderLoad kills the service again and again while 64 clients are at it, and holds what is on disk
// against what they were told: no acknowledged decision may be missing, no counter lower, no limit exceeded.
func TestKillUnderLoad(t *testing.T) {
	const clients, limit = 64, 400
	random := mathrand.New(mathrand.NewPCG(uint64(seed.Value(t)), 0))
	s := newSite(t, fmt.Sprintf(toolPolicy, limit))
	key := s.apiKey()
	told := &acknowledged{decision: map[[32]byte]string{}, allowed: map[string]uint64{}}
	var sent atomic.Int64
	for round := range rounds(t) {
		service := s.start()
		var wait sync.WaitGroup
		for client := range clients {
			wait.Go(func() {
				task := taskName(round, client)
				command := "ls"
				if client%8 == 0 {
					command = "rm -rf /"
				}
				for {
					body, commitment := bash(task, command, sent.Add(1))
					got, err := service.post("/v1/authorize", key, body)
					if err != nil {
						return // the service is gone, and what became of this one is unknown
					}
					told.add(task, commitment, got)
				}
			})
		}
		time.Sleep(time.Duration(50+random.IntN(400)) * time.Millisecond)
		service.kill()
		wait.Wait()
	}
	checkDisk(t, s, told, limit)
}

// taskName is the task of a client in one round; four share the clients.
func taskName(round, client int) string { return fmt.Sprintf("task-%d-%d", round, client%4) }

// allTasks are the tasks of all rounds. Of some nothing may have been acknowledged before the service was killed.
func allTasks(t *testing.T) (names []string) {
	for round := range rounds(t) {
		for client := range 4 {
			names = append(names, taskName(round, client))
		}
	}
	return names
}

// rounds is how often the service is killed.
func rounds(t *testing.T) int {
	if testing.Short() {
		return 2
	}
	t.Helper()
	return 6
}

// checkDisk opens the ledger as the service would and holds it against what clients were told.
func checkDisk(t *testing.T, s *site, told *acknowledged, limit uint64) {
	t.Helper()
	l, err := pebbleledger.Open(s.path("data/ledger"), pebbleledger.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx := context.Background()
	keys, err := l.Keys(ctx)
	if err != nil || len(keys) != 1 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	recorded, allowed := records(t, l)
	for commitment, decision := range told.decision {
		if recorded[commitment] != decision {
			t.Errorf("a client was told %s for %x, and the ledger has %q", decision, commitment, recorded[commitment])
		}
	}
	if len(told.decision) < 100 {
		t.Errorf("only %d decisions were acknowledged: the test shows too little", len(told.decision))
	}
	var total uint64
	for _, name := range allTasks(t) {
		answered := told.allowed[name]
		used, err := l.Counter(ctx, keys[0].ID, ledger.Counter{Limit: "execution_limits.max_tool_calls_per_task", Window: ledger.Task, Group: name}, time.Now().UnixNano())
		if err != nil {
			t.Fatal(err)
		}
		count, err := strconv.ParseUint(used.String(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += count
		if count < answered || count > limit {
			t.Errorf("%s: counter %d, %d acknowledged, limit %d", name, count, answered, limit)
		}
	}
	if total != allowed {
		t.Errorf("counters add up to %d, and %d ALLOWED are recorded", total, allowed)
	}
	t.Logf("%d decisions acknowledged, %d recorded", len(told.decision), len(recorded))
}

// records returns all recorded decisions by commitment, and how many are ALLOWED.
func records(t *testing.T, l ledger.Ledger) (decisions map[[32]byte]string, allowed uint64) {
	t.Helper()
	decisions = map[[32]byte]string{}
	for query := (ledger.EventQuery{Limit: ledger.MaxEventPage}); ; {
		page, err := l.Events(context.Background(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range page.Events {
			if event.Kind != ledger.Decided {
				continue
			}
			decisions[event.Event.Commitment] = event.Ending.Decision.String()
			if event.Ending.Decision == ledger.Allowed {
				allowed++
			}
		}
		if query.After = page.Next; !page.More {
			return decisions, allowed
		}
	}
}

// TestLimitWithManyClients lets 64 clients at a limit of N at once: exactly N pass, however they race.
func TestLimitWithManyClients(t *testing.T) {
	const clients, limit, each = 64, 100, 5
	s := newSite(t, fmt.Sprintf(toolPolicy, limit))
	key := s.apiKey()
	service := s.start()
	for round := range 5 {
		task := fmt.Sprintf("round-%d", round)
		var allowed, refused atomic.Int64
		var wait sync.WaitGroup
		for client := range clients {
			wait.Go(func() {
				for i := range each {
					body, _ := bash(task, "ls", int64(client*each+i))
					switch got, err := service.post("/v1/authorize", key, body); {
					case err != nil:
						t.Error(err)
					case got.Status == "ALLOWED" && got.Attestation != "":
						allowed.Add(1)
					case got.Code == "SVC_LOOP_LIMIT_EXCEEDED" && got.HTTP == 403:
						refused.Add(1)
					default:
						t.Errorf("unexpected answer: %d %s", got.HTTP, got.Raw)
					}
				}
			})
		}
		wait.Wait()
		if allowed.Load() != limit || refused.Load() != clients*each-limit {
			t.Errorf("%s: %d allowed and %d refused, with a limit of %d", task, allowed.Load(), refused.Load(), limit)
		}
	}
}
