# Bare `make` says what there is.
.DEFAULT_GOAL := help

GO ?= go
BIN := bin/bailiff
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
# The length of one fuzz target's run.
FUZZTIME ?= 20s

# Tests and linters compile everything once, without the profiles by which builds and benchmarks are optimised.
test race e2e-gateways lint fuzz differential mutants crash borders: export GOFLAGS += -pgo=off

.PHONY: help
help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

.PHONY: build
build: ## build bin/bailiff, bound to the commit it is built from
	$(GO) build -buildvcs=auto -trimpath -o $(BIN) ./cmd/bailiff

.PHONY: run
run: build ## make keys and an example policy where there are none, start the service, print what to paste
	$(BIN) quickstart

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
	$(GO) run $(GOLANGCI) run ./...
	@.ci/govulncheck $(GOVULNCHECK)

.PHONY: golden
golden: ## rewrite the golden files from what the code does now; read the diff
	$(GO) test ./cmd/bailiff -run TestDiagnosticsPage -rewrite
	$(GO) test ./grammar ./vm ./compiler ./runtime/intent ./httpd -rewrite

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each (20s)
	.ci/fuzz $(FUZZTIME)

# How many pairs of a policy and an intent the differential run judges.
N ?= 10000000

.PHONY: differential
differential: ## hold the machine against the independent oracle on N generated pairs (10,000,000)
	$(GO) test ./fuzz/differential -run TestDifferential -pairs $(N) -v -timeout 0

.PHONY: mutants
mutants: ## faults planted in the compiler, each of which the differential run has to catch
	$(GO) test -tags mutants ./fuzz/mutants -timeout 20m

.PHONY: bench
bench: ## the Go benchmarks of every layer, optimised as the command is
	$(GO) test -pgo=$(CURDIR)/cmd/bailiff/default.pgo ./bench/... -run '^$$' -bench . -benchmem

.PHONY: bench-peers
bench-peers: ## other policy engines at library level, in one run; writes their table into bench/RESULTS.md
	cd bench/peers && $(GO) run . -write ../RESULTS.md

.PHONY: bench-http
bench-http: build ## the running service over loopback, beside its floors; ends with the ratios
	$(GO) run ./bench/http -service $(BIN)

PROFILES := .cache/profiles

.PHONY: profile
profile: ## measure what is hot in the machine and the compiler, for builds: default.pgo of the command and of the peers
	mkdir -p $(PROFILES)
	$(GO) test -trimpath ./bench -run '^$$' -bench 'Run/|Sections/run/|Compile' -o $(PROFILES)/bench.test -cpuprofile $(PROFILES)/library.pprof
	cd bench/peers && $(GO) run -trimpath . -rounds 3 -cpuprofile ../../$(PROFILES)/peers.pprof
	$(GO) run ./bench/profile cmd/bailiff/default.pgo $(PROFILES)/library.pprof
	$(GO) run ./bench/profile bench/peers/default.pgo $(PROFILES)/peers.pprof

# How often the service is killed.
KILLS ?= 200

.PHONY: bench-scale
bench-scale: build ## start time and memory of 100,000 keys with policies
	$(GO) run ./bench/scale -service $(BIN)

.PHONY: crash
crash: ## kill the service KILLS times (200) under mixed load, and hold what is left against what clients were told
	BAILIFF_KILLS=$(KILLS) $(GO) test ./httpd/e2e -run TestKillEverything -count 1 -v -timeout 1h

.PHONY: borders
borders: ## many clients at the borders of limits, of 200 quotas, at first deployments and approved holds, 1,000 times each
	BAILIFF_ROUNDS=1000 BAILIFF_QUOTAS=200 $(GO) test ./httpd/e2e -run 'TestBorders|TestFirstDeployments|TestOneHold|TestQuotaOfKeys' -count 1 -v -timeout 1h

.PHONY: nightly
nightly: race differential mutants crash borders ## what takes too long for every change
	$(MAKE) fuzz FUZZTIME=10m
	$(MAKE) bench bench-http

.PHONY: clean
clean: ## remove what was built (not data/ and config/)
	rm -rf bin .cache
