package serve

import (
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/httpd"
	"bailiff/httpd/peers"
	"bailiff/httpd/strict"
	"bailiff/runtime/attest"
	"bailiff/runtime/budget"
	"bailiff/runtime/clock"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ledger"
	"bailiff/runtime/ledger/commit"
	pgledger "bailiff/runtime/ledger/postgres"
	"bailiff/runtime/ledger/slots"
	"bailiff/runtime/metrics"
	"bailiff/runtime/system"
	"bailiff/runtime/webhook"
)

// A peering is the other instances of the store, as this one knows them.
type peering struct {
	listener net.Listener   // where they pass requests on to this one; nil where they do not
	address  string         // of the listener, as they reach it
	domain   string         // that their certificates name them in
	passing  *peers.Passing // requests to them; nil where none are passed on
	// connections is how many of this instance another one has at most.
	connections int
	ready       atomic.Pointer[httpd.Check]
	alone       atomic.Int64           // since when none of several others could be reached, Unix nanoseconds; 0 where one could
	unreached   map[string]unreached   // by their names; of the one goroutine that asks
	missed      atomic.Pointer[string] // those of them that were told of
	missing     atomic.Int64           // how many these are
}

// An unreached instance has slots, and does not answer this one.
type unreached struct {
	since time.Time
	err   error
}

// service is a service that runs.
type service struct {
	settings     *cmdsettings.Settings // that it started with
	current      *cmdsettings.Settings // that the last reload left in force; reload's alone
	again        func() (*cmdsettings.Settings, error)
	log          *slog.Logger
	level        *slog.LevelVar // of the log
	certificates certificates
	mirror       *mirror // nil: there is none
	clock        clock.Clock
	calls        system.Calls   // with that clock
	guard        *clock.Guarded // of clock
	watch        clockWatch
	store        *pgledger.Store // nil: the record is in the data folder
	folder       io.Closer       // with store: lets another process have the data folder
	peers        peering
	bodies       *budget.Budget
	standby      *httpd.Standby   // answers clients while another instance decides; nil where the record is in the data folder
	passed       *httpd.Standby   // the same of other instances; nil where they pass nothing on
	stopWaiting  func()           // with standby
	confirm      commit.Confirmer // nil: no other instance can have the record
	many         *slots.Ledger    // ledger, where the store has several slots
	proof        proof
	endStore     func()      // ends waiting for the store, and has slots handed over
	sharing      atomic.Bool // many is there
	passing      []server    // with many, where other instances ask this one: until the slots are handed over
	found        bool        // all slots were found before, or sought for long enough; for the look
	looked       int         // how often they were sought
	policies     otherPolicies
	lost         atomic.Int64 // slots that are nowhere
	ledger       ledger.Ledger
	signer       *attest.Signer
	metrics      *metrics.Metrics
	deliveries   *webhook.History
	boot         boot
	signed       map[string]ledger.Head // the heads that the checkpoints in the data folder are of, by their paths
	checkpointed atomic.Int64           // when it last was of the end of the record: Unix nanoseconds
	retaining    retaining
	exports      exports
	decider      *decision.Decider
	gateway      *gateway.Gateway
	apis         []*httpd.Server // with limits in common
	ready        *readiness
	deciding     atomic.Pointer[readiness] // ready, when it serves
	admin        *decision.Admin
	commands     httpd.Commands
	operating    *httpd.OperatorConsole // nil: there is none
	clients      []server               // who asks from outside; stopped first
	operator     []server               // Admin socket and monitor; stopped last
	slots        *strict.Slots          // of the connections of clients; nil where nothing bounds them
	work         background
	failed       chan error // of whatever can't go on
	address      string     // where the API is
}

// otherPolicies are the instances of the store that have another default policy than this one.
type otherPolicies struct {
	mu     sync.Mutex // of all but number, also while the database is asked
	known  bool       // whether this process has noted one
	noted  string     // its hash, "" where it has none
	said   string
	number atomic.Int64
}

// count returns how many instances have another default policy.
func (o *otherPolicies) count() int { return int(o.number.Load()) }
