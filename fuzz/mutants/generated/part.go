package main

import (
	"maps"
	"slices"
)

// A part is packages whose mutants are made, and the suites that may kill them: their own tests first.
type part struct {
	packages []string
	suites   []suite
}

var parts = map[string]part{
	"runtime/ledger/state": {
		packages: []string{"./runtime/ledger/state"},
		suites: []suite{
			{folder: "runtime/ledger/state"},
			{folder: "runtime/ledger/memory", tests: "^TestConformance$"},
			{folder: "runtime/ledger/commit"},
			{folder: "runtime/ledger/memory", tests: "^TestModel$", arguments: []string{"-histories", "40"}},
		},
	},
	"runtime/gateway": {
		packages: []string{"./runtime/gateway"},
		suites: []suite{
			{folder: "runtime/gateway"},
			{folder: "fuzz/evm", tests: "^TestAttack$", arguments: []string{"-plans", "1000"}},
		},
	},
	"vm": {
		packages: []string{"./vm", "./vm/match", "./vm/amount", "./vm/wire"},
		suites: []suite{
			{folder: "vm"}, {folder: "vm/match"}, {folder: "vm/amount"}, {folder: "vm/wire"},
			{folder: "compiler"},
			{folder: "fuzz/differential", tests: "^TestDifferential$/^fixed$", arguments: []string{"-fixed", "5000", "-shrink=false"}},
		},
	},
}

func partNames() []string { return slices.Sorted(maps.Keys(parts)) }
