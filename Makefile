# Bare `make` says what there is.
.DEFAULT_GOAL := help

GO ?= go
BIN := bin/bailiff
# How bin/bailiff is built.
BUILD ?= -buildvcs=auto -trimpath
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
# The length of one fuzz target's run.
FUZZTIME ?= 20s

# Tests and linters compile everything once, without the profiles by which builds and benchmarks are optimised.
test reproducible release-targets race e2e-gateways lint fuzz differential conform evm mutants mutation bash chart crash failover rounds retention simulate owners borders cost cover mcp-conformance reload screenshots: export GOFLAGS += -pgo=off

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

.PHONY: build
build: ## build bin/bailiff, bound to the commit it is built from
	$(GO) build $(BUILD) -o $(BIN) ./cmd/bailiff

# RELEASE="-dirty" releases a tree with changes.
.PHONY: release
release: ## archives for four platforms, bills of materials, a container image and checksums, in dist/; needs a tree without changes
	$(GO) run ./cmd/release $(RELEASE)

.PHONY: reproducible
reproducible: ## build one target of a release twice, each time with an empty build cache, and compare (also warm, in test)
	$(GO) test ./cmd/release -run TestReproducible -cold -count 1 -v -timeout 1h

.PHONY: release-targets
release-targets: ## build the archives of all targets; the tests of every change build one
	$(GO) test ./cmd/release -run "TestArchives|TestImage|TestOtherTargets" -every-target -count 1 -v -timeout 1h

.PHONY: run
run: build ## make keys and an example policy where there are none, start the service, print what to paste; RPC_URL=… sets a node
	@$(BIN) quickstart $(if $(RPC_URL),--rpc-url '$(RPC_URL)')

.PHONY: run-cluster
run-cluster: build ## run PostgreSQL with a standby, three instances and a balancer, and print what to paste and what to kill; AT=127.0.0.1:8787 SLOTS=1
	@$(GO) test ./httpd/e2e -run TestRunCluster -count 1 -timeout 0 -v -cluster $(or $(AT),127.0.0.1:8787) -slots $(or $(SLOTS),1)

.PHONY: test
test: ## every test (with Node and npm: also the independent verifiers of attestations)
	@.ci/test

.PHONY: race
race: ## the tests of everything that runs at once, with the race detector (needs a C compiler)
	$(GO) test -race ./runtime/... ./httpd/...

.PHONY: e2e-gateways
e2e-gateways: ## the gateways with real nodes, a real bundler and viem, installed from the registries (also part of test)
	$(GO) test ./httpd/e2e/gateway -count=1 -v

.PHONY: lint
lint: ## gofmt, vet, golangci-lint, govulncheck where its database can be reached
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi
	$(GO) mod tidy -diff
	$(GO) vet ./...
	cd bench/peers && $(GO) mod tidy -diff && $(GO) vet ./...
	cd bench/signers && $(GO) mod tidy -diff && $(GO) vet ./...
	$(GO) run $(GOLANGCI) run ./...
	@.ci/govulncheck $(GOVULNCHECK)

.PHONY: golden
golden: ## rewrite the golden files from what the code does now; read the diff
	$(GO) test ./cmd/bailiff/policy -run TestDiagnosticsPage -rewrite
	$(GO) test ./cmd/bailiff/serve -run TestMetricsPage -rewrite
	$(GO) test ./cmd/bailiff/settings -run TestChartSchema -rewrite
	$(GO) test ./runtime/attest -run TestVectors -rewrite
	$(GO) test ./runtime/decision -run TestAnswers -rewrite
	$(GO) test ./runtime/hook/... -run TestDocs -rewrite
	$(GO) test ./httpd/mcpproxy -run TestPage -rewrite
	$(GO) test ./grammar ./vm ./compiler ./runtime/intent ./httpd -rewrite
	$(GO) test . -run 'TestSpecification|TestPictures|TestArchitecture' -rewrite
	$(GO) test ./httpd/e2e -run TestAPIPage -rewrite

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each (20s)
	.ci/fuzz $(FUZZTIME)

# How many pairs of a policy and an intent the differential run judges.
N ?= 10000000

.PHONY: differential
differential: ## hold the machine against the independent oracle on N generated pairs (10,000,000)
	$(GO) test ./fuzz/differential -run TestDifferential -pairs $(N) -v -timeout 0

# How many writes the attack on the gateways generates, for each way in.
WRITES ?= 10000

.PHONY: evm
evm: ## attack the gateways with WRITES generated transactions and operations (10,000), executed by a real EVM
	$(GO) test ./fuzz/evm -run TestAttack -plans $(WRITES) -v -count 1 -timeout 0

# How many requests the conformance kit holds the service to.
CASES ?= 100000

.PHONY: conform
conform: ## hold the built service and hook to the oracle by CASES generated requests (100,000) at all levels, and have the kit find twenty mutants of twenty
	$(GO) test ./httpd/e2e -run 'TestConforms$$|TestConformMutants$$' -conform $(CASES) -v -count 1 -timeout 0

.PHONY: mutants
mutants: ## faults planted in compiler, gateways and budgets, each of which the differential run, the attack or a test has to catch
	$(GO) test -tags mutants ./fuzz/mutants -timeout 90m
	$(GO) test -tags mutants ./bench/worst -run TestPlanted -timeout 40m

# Of which packages mutants are generated, and how many of each are tried (0: all). SEED says which.
PKG ?= runtime/ledger/state runtime/gateway vm
SAMPLE ?= 500

.PHONY: mutation
mutation: ## generate mutants of PKG (state, gateway and machine), have the tests kill SAMPLE of each (500; 0 for all) by SEED (1), write docs/mutation.md
	nice -n 10 $(GO) run ./fuzz/mutants/generated -sample $(SAMPLE) -seed $(or $(SEED),1) -write docs $(PKG)

.PHONY: bench
bench: ## the Go benchmarks of every layer, optimised as the command is
	$(GO) test -pgo=$(CURDIR)/cmd/bailiff/default.pgo ./bench/... -run '^$$' -bench . -benchmem

.PHONY: bench-peers
bench-peers: build ## other policy engines at library level, then OPA, Cerbos and OpenFGA as servers, each after they have answered alike; writes tables and plots into bench/RESULTS.md
	cd bench/peers && $(GO) test -count 1 ./...
	cd bench/peers && $(GO) run . -write ../RESULTS.md
	$(GO) run ./bench/servers -service $(BIN) -write bench/servers
	mkdir -p bench/servers/plots
	$(GO) test ./bench/servers -run TestPage -rewrite

# By how many keys the signers are held to be equal.
KEYS ?= 20000

.PHONY: bench-signers
bench-signers: ## two libraries that sign with ML-DSA-65: equal on KEYS keys (20,000), published vectors, cost, timing, one signature for a group
	cd bench/signers && $(GO) test -count 1 -v -timeout 0 . -keys $(KEYS)
	cd bench/signers && $(GO) run -pgo=$(CURDIR)/cmd/bailiff/default.pgo .

.PHONY: bench-http
bench-http: build ## the running service over loopback, beside its floors; ends with the ratios
	$(GO) run ./bench/http -service $(BIN)

.PHONY: bench-store
bench-store: build ## the service over PostgreSQL with a synchronous standby, beside the one with a data folder, and with a transaction that stays open
	$(GO) run ./bench/store -service $(BIN)

.PHONY: bench-growth
bench-growth: build ## the processor time of a decision by the number of instances over PostgreSQL, and a simulation with it; writes tables and plots into bench/RESULTS.md
	mkdir -p bench/store/plots
	$(GO) run ./bench/store -service $(BIN) -parts machines -write bench/store
	$(GO) run ./bench/store -service $(BIN) -parts slots -clients 256 -write bench/store
	$(GO) test ./bench/store -run Page -rewrite

.PHONY: bench-hook
bench-hook: build ## what a coding agent waits for `bailiff hook` and for the HTTP hook, beside the least program
	$(GO) run ./bench/hook -service $(BIN)

PROFILES := .cache/profiles

.PHONY: profile
profile: ## measure what is hot in the machine and the compiler, for builds: default.pgo of the command and of the peers
	mkdir -p $(PROFILES)
	$(GO) test -trimpath ./bench -run '^$$' -bench 'Run/|Sections/run/|Compile' -o $(PROFILES)/bench.test -cpuprofile $(PROFILES)/library.pprof
	cd bench/peers && $(GO) run -trimpath . -rounds 3 -cpuprofile ../../$(PROFILES)/peers.pprof
	$(GO) run ./bench/profile cmd/bailiff/default.pgo $(PROFILES)/library.pprof
	$(GO) run ./bench/profile bench/peers/default.pgo $(PROFILES)/peers.pprof

# How long commands are compared with a real bash.
BASHTIME ?= 2h

.PHONY: bash
bash: ## run generated commands that a block list lets pass in a real bash for BASHTIME (2h), in a sandbox
	$(GO) test ./fuzz/bash -run 'TestHunt$$' -commands 0 -for $(BASHTIME) -v -timeout 0

# How often the service is killed.
KILLS ?= 200

.PHONY: bench-scale
bench-scale: build ## start time and memory of 100,000 keys with policies
	$(GO) run ./bench/scale -service $(BIN)

# How long the attacks of bench-worst take together, or each.
WORST ?= -total 45s

.PHONY: bench-worst
bench-worst: build ## attack a hosted service in a control group of 1 GiB in every way that has killed one (WORST="-each 5m -floors")
	$(GO) run ./bench/worst -service $(BIN) $(WORST)

.PHONY: chart
chart: ## hold the Helm chart to Helm's linter and the types of Kubernetes, in a module of its own
	cd fuzz/chart && $(GO) mod tidy -diff && $(GO) vet ./... && $(GO) test -count 1 -v ./...

.PHONY: crash
crash: ## kill the service KILLS times (200) under mixed load, hold what is left against what clients were told; a model of the ledger, too
	BAILIFF_KILLS=$(KILLS) $(GO) test ./httpd/e2e -run TestKillEverything -count 1 -v -timeout 1h
	$(GO) test ./runtime/ledger/pebble -run 'TestModel$$' -histories 1000 -count 1 -v -timeout 1h
	$(GO) test ./runtime/ledger/slots -run 'TestModel$$' -histories 300 -count 1 -v -timeout 1h

# How many rounds there are of each test of failover. Each has a database of its own.
FAILOVERS ?= 300
AT_ONCE ?= 1

# Which rounds there are: of two instances (OF=), over slots (OF=Slots), or first the ones, then the others.
OF ?= |Slots

# An earlier commit, which one of three instances has, as in an update.
PREVIOUS ?= c580220e

.PHONY: failover
failover: ## planted faults that rounds of failover find; the ledger's suites with a synchronous standby, and further tests of the service over slots
	$(GO) test ./runtime/ledger/postgres -count 1 -v -timeout 1h -args -full
	BAILIFF_OVER_SLOTS=all $(GO) test ./httpd/e2e -run TestOverSlots -count 1 -v -timeout 1h
	BAILIFF_CANARIES=all $(GO) test ./httpd/e2e -run TestCanaries -count 1 -v -timeout 3h

.PHONY: rounds
rounds: ## two instances over PostgreSQL, and three over slots, FAILOVERS times (300): each ended in every way, and the primary, under load, and one of three is of an earlier commit
	@git cat-file -e $(PREVIOUS) || { echo "the history lacks $(PREVIOUS); fetch all of it, or name another commit by PREVIOUS="; exit 1; }
	rm -rf .cache/previous && mkdir -p .cache/previous && git archive $(PREVIOUS) | tar -x -C .cache/previous
	cd .cache/previous && $(GO) build -buildvcs=false -o ../bailiff-previous ./cmd/bailiff
	BAILIFF_PREVIOUS=$(CURDIR)/.cache/bailiff-previous BAILIFF_FAULTS=5 BAILIFF_FAILOVERS=$(FAILOVERS) $(GO) test ./httpd/e2e -run '^Test($(OF))Failover$$' -parallel $(AT_ONCE) -count 1 -v -timeout 16h

.PHONY: retention
retention: ## drop old events for 30 simulated days and for a fast one, and kill that 20 times at each step, and 10 times backups and restorations
	$(GO) test ./runtime/retention -run TestDays -count 1 -v -timeout 2h -args -rate 10 -days 30 -last 24h
	$(GO) test ./runtime/retention -run TestDays -count 1 -v -timeout 4h -args -rate 1000 -days 24 -last 1h
	$(GO) test ./runtime/retention -run TestKills -count 1 -v -timeout 1h -args -kills 20
	$(GO) test ./cmd/bailiff/backup -run TestFaultsAtEachStep -count 1 -v -timeout 1h -args -kills 10

# A seed of one world, whose history is printed; without one, WORLDS worlds of fresh seeds, and TWICE others that are simulated twice,
# each of STEPS steps.
WORLDS ?= 50000
TWICE ?= 1000
STEPS ?= 200

.PHONY: simulate
simulate: ## the service on a simulated machine: SEED=N STEPS=200 replays one world, without a seed WORLDS=50000 are made, and TWICE=1000 twice, with the same histories
	$(GO) test ./fuzz/simulate -run '^Test(Simulate|Deterministic)$$' -count 1 -v -timeout 0 -world $(or $(SEED),0) -seeds $(WORLDS) -twice $(TWICE) -steps $(STEPS)

# Which of them: Worlds and Orders of one slot, a fifth as many ManySlots and OrdersOfSlots.
OWNERS ?= Worlds|Orders|OrdersOfSlots|ManySlots

.PHONY: owners
owners: ## three instances that take a log from each other, or share the slots of a store, over a simulated database: SEED=N is one world, with the same faults and, of one slot, the same history each time; without a seed WORLDS=50000 are made
	$(GO) test ./runtime/ledger/postgres -run '^Test($(OWNERS))$$' -count 1 -v -timeout 0 -args -world $(or $(SEED),0) -worlds $(WORLDS)

.PHONY: cover
cover: ## branch coverage of the packages that decide; fails below 95 %, and where one of the rest has no reason; writes docs/branches.md
	@.ci/cover

.PHONY: cost
cost: ## make one change of each frequent kind in a copy of the project, and run the tests there
	$(GO) test ./fuzz/cost -prove -count 1 -timeout 1h -v

.PHONY: borders
borders: ## many clients at the borders of limits, of 200 quotas, at first deployments and approved holds, 1,000 times each
	BAILIFF_ROUNDS=1000 BAILIFF_QUOTAS=200 $(GO) test ./httpd/e2e -run 'TestBorders|TestFirstDeployments|TestOneHold|TestQuotaOfKeys' -count 1 -v -timeout 1h

.PHONY: hosts
hosts: ## find the evidence of what coding agents make of hooks in their npm packages (downloads 0.7 GB)
	BAILIFF_HOSTS=true $(GO) test ./fuzz/hosts -run TestEvidence -count 1 -v -timeout 30m

.PHONY: bench-mcp
bench-mcp: build ## what mcp-proxy adds to a call of a tool, beside the same server without it; fails above 300 µs
	$(GO) run ./bench/mcp -service $(BIN)

.PHONY: bench-console
bench-console: build ## pages of the console over 1,000,000 events, and what 50 live tails cost denials
	$(GO) run ./bench/console -service $(BIN)

.PHONY: screenshots
screenshots: ## make the pictures of docs/console.md anew, in Debian's Chromium
	$(GO) test ./httpd/e2e/console -run TestConsole/screenshots -screenshots -count 1

.PHONY: mcp-conformance
mcp-conformance: ## the protocol's conformance suites, for servers and clients, with and without mcp-proxy (needs Node and npm)
	$(GO) test ./httpd/mcpproxy/e2e -run Conformance -conformance -count 1 -v -timeout 20m

# How many policies the reload test puts in force under load, with a broken one after each.
RELOADS ?= 200

.PHONY: reload
reload: ## SIGHUP under load with RELOADS good policies (200), each followed by a broken one
	$(GO) test ./httpd/e2e -run TestReload -reloads $(RELOADS) -v -count 1 -timeout 0

.PHONY: record
record: ## run a long proof and keep a report of it in docs/runs: RUN="simulate WORLDS=500"
	$(GO) run ./fuzz/runs $(RUN)

.PHONY: nightly
nightly: reproducible release-targets race reload differential conform evm mutants bash chart crash failover rounds retention simulate owners borders cost cover hosts mcp-conformance ## what takes too long for every change
	$(MAKE) fuzz FUZZTIME=10m
	$(MAKE) bench bench-http bench-store bench-growth bench-mcp bench-console
	$(MAKE) bench-worst WORST="-each 5m -floors"

.PHONY: clean
clean: ## remove what was built (not data/ and config/)
	rm -rf bin dist .cache
