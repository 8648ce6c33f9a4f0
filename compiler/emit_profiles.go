package compiler

import (
	"slices"
	"strings"

	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// The slots that the rules of resource profiles read.
var (
	slotBoundary        = derived.Boundary
	slotEffects         = derived.Effects
	slotTargets         = derived.Targets
	slotWritten         = derived.Written
	slotRead            = derived.Read
	slotWrittenRoots    = derived.WrittenRoots
	slotFilePaths       = derived.Paths
	slotGitFolders      = derived.GitFolders
	slotTaken           = derived.Taken
	slotTakenTree       = derived.TakenTree
	slotTakenRoots      = derived.TakenRoots
	slotClasses         = derived.Classes
	slotFileCount       = derived.FileCount
	slotBytesWritten    = derived.BytesWritten
	slotBytesDeleted    = derived.BytesDeleted
	slotDestructive     = derived.Destructive
	slotGitOperation    = derived.Operation
	slotGitRefs         = derived.Refs
	slotGitForced       = derived.Forced
	slotGitBranch       = derived.Branch
	slotGitChanges      = derived.Changes
	slotWorktree        = derived.Worktree
	slotGitProvider     = derived.Provider
	slotRemoteScheme    = derived.RemoteScheme
	slotDBOperations    = derived.Operations
	slotDBStatements    = derived.Statements
	slotDBEnvironment   = derived.Environment
	slotDBResources     = derived.Resources
	slotDBCapabilities  = derived.Capabilities
	slotDBSchemaChanges = derived.SchemaChanges

	// suffixBeyond makes of a slot of paths the one of those that are in none of the shim's roots.
	suffixBeyond = ".beyond"
)

// ruleBoundary is the rule of what no key says: governed intents need a shim (decisions, section 2, "Resource profiles").
const ruleBoundary = "execution.boundary"

// The kinds by which rules tell what is missing, what can't be read and what can be judged.
var (
	missing    = vm.Kinds(vm.Missing)
	unreadable = vm.Kinds(vm.Invalid)
	aText      = vm.Kinds(vm.String)
	aList      = vm.Kinds(vm.List)
	aNumber    = vm.Kinds(vm.Number)
)

// A profileRule is a piece of program for the intents whose actions some patterns cover.
type profileRule struct {
	actions []string // patterns in lower case, sorted
	emit    func()
}

// bind emits rules in their order, each for its own actions. An intent that none of them binds passes all by one switch,
// and needs none of their slots: that is decided by switches on the action.
func (e *emitter) bind(rules []profileRule) {
	rules = slices.DeleteFunc(rules, func(r profileRule) bool { return len(r.actions) == 0 })
	if len(rules) == 0 {
		return
	}
	var all []string
	for _, rule := range rules {
		all = patterns(all, rule.actions)
	}
	done := e.NewLabel()
	e.only(all, done)
	for len(rules) > 0 {
		actions, next := rules[0].actions, e.NewLabel()
		if !slices.Equal(actions, all) {
			e.only(actions, next)
		}
		for len(rules) > 0 && slices.Equal(rules[0].actions, actions) {
			rules[0].emit()
			rules = rules[1:]
		}
		e.Place(next)
	}
	e.Place(done)
}

// only goes on at outside for actions that no pattern covers.
func (e *emitter) only(actions []string, outside vm.Label) {
	if slices.Contains(actions, "*") {
		return // every action is covered, and a switch takes no empty prefix
	}
	inside := e.NewLabel()
	e.at(e.policy.Version.Span)
	e.Switch(e.Field(slotLowerAction), outside, actionCases(actions, inside)...)
	e.Place(inside)
}

// actionCases returns the cases of the actions that patterns cover.
func actionCases(actions []string, to vm.Label) []vm.Case {
	cases := make([]vm.Case, len(actions))
	for i, pattern := range actions {
		start, isPrefix := strings.CutSuffix(pattern, "*")
		cases[i] = vm.Case{Text: start, Prefix: isPrefix, To: to}
	}
	return cases
}

// boundary denies intents that a resource profile governs and no trusted shim vouches for.
func (e *emitter) boundary() {
	e.bind([]profileRule{{e.policy.Profiles.governed(), func() {
		e.unless(func(pass vm.Label) { e.Kind(vm.If, e.Field(slotBoundary), aText, pass) },
			ruleBoundary, errcode.ExecutionBoundary, "a resource profile governs the action, which needs a key whose provenance is a shim and metadata.execution", e.value(slotBoundary))
	}}})
}

// profiles judges governed intents by the rules of their profiles.
func (e *emitter) profiles() {
	e.bind(slices.Concat(e.repositoryRules(), e.filesystemRules(), e.gitRules(), e.databaseRules()))
}

// profileGrants jumps where a profile grants the tool.
func (e *emitter) profileGrants(granted vm.Label) {
	actions := e.policy.Profiles.granted()
	if len(actions) == 0 {
		return
	}
	e.at(e.policy.Version.Span)
	if e.policy.Profiles.grantAll() {
		e.Kind(vm.If, e.Field(slotLowerAction), aText, granted) // a switch takes no empty prefix
		return
	}
	next := e.NewLabel()
	e.Switch(e.Field(slotLowerAction), next, actionCases(actions, granted)...)
	e.Place(next)
}

// profileApprovals holds governed intents on whose operations a person has to decide.
func (e *emitter) profileApprovals() {
	p := &e.policy.Profiles
	var rules []profileRule
	if g := p.Git; g != nil && g.Approval != nil {
		rules = append(rules, profileRule{p.byGit(), func() {
			e.approve(g.Approval, keyGitApproval, slotGitOperation, "a person has to decide on the git operation")
		}})
	}
	if d := p.Database; d != nil && d.Approval != nil {
		rules = append(rules, profileRule{p.byDatabase(), func() {
			e.approve(d.Approval, keyDBApproval, slotDBOperations, "a person has to decide on the database operation")
		}})
	}
	e.bind(rules)
}

// approve holds where an operation is one of the list.
func (e *emitter) approve(operations *List, key *Key, slot, message string) {
	next := e.NewLabel()
	e.blocking(operations)
	e.Test(vm.OpIn, vm.Unless, e.Field(slot), e.exactly(operations.texts()...), next)
	e.Hold(e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}))
	e.Place(next)
}

// An impactLimit is a limit on the sum of what a task does.
type impactLimit struct {
	limit   *Count
	key     *Key
	slot    string
	unit    string
	message string
}

// profileLimits plans the counters of the profiles' impact limits.
func (e *emitter) profileLimits() {
	p := &e.policy.Profiles
	var rules []profileRule
	add := func(actions []string, limits ...impactLimit) {
		for _, limit := range limits {
			if limit.limit != nil {
				rules = append(rules, profileRule{actions, func() { e.impact(limit) }})
			}
		}
	}
	if f := p.Filesystem; f != nil {
		add(p.byFilesystem(),
			impactLimit{f.MaxBytesWritten, keyBytesWritten, slotBytesWritten, "bytes", "the task would write more bytes than allowed, or the intent does not say how many"},
			impactLimit{f.MaxBytesDeleted, keyBytesDeleted, slotBytesDeleted, "bytes", "the task would delete more bytes than allowed, or the intent does not say how many"},
			impactLimit{f.MaxDestructive, keyDestructive, slotDestructive, "destructive effects", "the task would have more destructive effects than allowed"})
	}
	if g := p.Git; g != nil {
		add(p.byGit(), impactLimit{g.MaxRefChanges, keyRefChanges, slotGitChanges, "ref updates", "the task would update more refs than allowed"})
	}
	if d := p.Database; d != nil {
		add(p.byDatabase(), impactLimit{d.MaxSchemaChanges, keySchemaChanges, slotDBSchemaChanges, "schema changes", "the task would change more of the schema than allowed"})
	}
	e.bind(rules)
}

// impact plans the counter of one limit. An amount that can't be read is denied by it.
func (e *emitter) impact(l impactLimit) {
	next, has := e.NewLabel(), e.NewLabel()
	task := e.Field(slotTaskID)
	e.at(l.limit.Span)
	e.Kind(vm.Unless, task, absent, has)
	e.deny(l.key.Rule, errcode.TaskIDRequired, "the policy limits what a task does, and the intent has no task_id", vm.Blame{Slot: task}, next)
	e.Place(has)
	e.Reserve(e.Counter(vm.Counter{
		Name:      l.key.Rule,
		Rule:      e.Rule(vm.Rule{Name: l.key.Rule, Code: string(l.key.Code), Message: l.message}),
		Op:        vm.Sum,
		Limit:     amount.FromUint64(l.limit.N),
		Unit:      l.unit,
		Amount:    e.Field(l.slot),
		Window:    vm.Task,
		Group:     task,
		GroupName: slotTaskID,
	}))
	e.Place(next)
}
