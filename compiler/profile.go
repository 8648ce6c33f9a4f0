package compiler

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
	"bailiff/vm/slot/derived"
)

// The types of values that several profiles have.
var (
	rootLists = valueOf(TypeRoots, (*checker).roots)
	nameLists = namesOf(TypeNames, checkName)
)

// profile marks a section as a resource profile, whose values take no quotes.
func profile(s *Section) *Section {
	for _, row := range s.keys {
		row.bare = true
	}
	return s
}

// profileShimKey returns the row of `require_shim` of a profile, which says nothing that is judged.
func profileShimKey[S any](field func(*S) **Flag) *Key {
	return key(booleans, field, Key{Name: nameShim, Default: "false",
		Doc:     "Says that a trusted shim watches over the profile, without which it is not deployed; governed intents need a shim whatever it says.",
		Example: "require_shim: true"})
}

// patterns joins lists of action patterns, sorted and each once.
func patterns(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// repositoryTools are the tools that the repository profile governs of itself.
var repositoryTools = []string{"bash", "file_write"}

// checkBlocked warns of operations that are both allowed and blocked.
func (c *checker) checkBlocked(allowed, blocked *List) {
	if blocked == nil {
		return
	}
	for _, item := range blocked.Items {
		if slices.Contains(allowed.Texts(), item.Text) {
			c.add(grammar.At(codes.AllowedAndBlocked, item.Span, "`%s` is in `allowed_operations` too, and is denied", item.Text).
				WithHint("remove it from `allowed_operations`"))
		}
	}
}

// checkApproval reports operations on which a person would have to decide, and which are denied before.
func (c *checker) checkApproval(section string, allowed, approval *List) {
	if allowed == nil || approval == nil || c.lost(section, "allowed_operations") {
		return
	}
	for _, item := range approval.Items {
		if !slices.Contains(allowed.Texts(), item.Text) {
			c.add(grammar.At(codes.ApprovalDenied, item.Span, "`%s` is not in `allowed_operations`, so it is denied before anybody could approve it", item.Text).
				WithHint("add it to `allowed_operations` if a person is to decide; as it is, it is denied"))
		}
	}
}

// maxNameBytes bounds the names of a profile: refs, tables, routines, classes. It is more than git and databases take.
const maxNameBytes = 256

// OwnRoots is the root that means those that the shim reports.
const OwnRoots = "."

// unquoted reports values between quotes: a profile's values are taken as they are, so that quotes would be part of
// them.
func (c *checker) unquoted(row *Key, value *grammar.Value) {
	for _, item := range value.Items {
		if !item.Quoted {
			continue
		}
		d := grammar.At(codes.QuotedInProfile, item.Span, "the values of `%s` stand without quotes", row.Name).
			WithHint("remove the quotes")
		if item.Text != "" && !strings.ContainsAny(item.Text, "\"'#,<") && strings.TrimSpace(item.Text) == item.Text {
			d = d.WithFix(item.Span, item.Text)
		}
		c.add(d)
	}
}

// roots reads a list of roots.
func (c *checker) roots(entry *grammar.Entry) *List {
	list := &List{Span: entry.Span}
	for _, item := range c.list(entry) {
		if item.Text == OwnRoots || resource.CanonicalRoot(item.Text) {
			list.Items = append(list.Items, Item{item.Text, item.Span})
		} else {
			c.add(notRoot(item))
		}
	}
	return list
}

// notRoot reports what is no root. The fix is there where the text means one directory only.
func notRoot(item grammar.Item) grammar.Diagnostic {
	d := grammar.At(codes.Root, item.Span, "`%s` is no root: it %s", Shorten(item.Text), resource.WhyNotCanonical(item.Text))
	clean := path.Clean(item.Text)
	switch {
	case clean == OwnRoots:
		return d.WithHint("write `.`").WithFix(item.Span, OwnRoots)
	case resource.CanonicalRoot(clean) && !strings.Contains(item.Text, ".."):
		return d.WithHint("write `%s`", Shorten(clean)).WithFix(item.Span, clean)
	case strings.HasPrefix(item.Text, "~"):
		return d.WithHint("a shim reports whole paths; write the home directory out")
	}
	return d.WithHint("write a whole path, such as /workspace/repository, or `.` for the roots that the shim reports")
}

// oneName reads a value that is one name. It returns nil after reporting.
func (c *checker) oneName(entry *grammar.Entry) *Text {
	value := entry.Value
	if len(value.Items) > 1 {
		c.add(grammar.At(codes.Name, value.Span, "this is one name, and no list").WithHint("write one name, without commas"))
		return nil
	}
	if c.refuseName(checkName(value.Text), value.Span) {
		return nil
	}
	return &Text{Span: entry.Span, Item: Item{value.Text, value.Span}}
}

// checkName bounds a name: of a class, an environment, a routine.
func checkName(text string) problem {
	switch {
	case text == "":
		return problem{codes.Name, "a name is not empty", "write the name, or remove the line"}
	case len(text) > maxNameBytes:
		return problem{codes.Name, fmt.Sprintf("a name has at most %d bytes, and this one %d", maxNameBytes, len(text)), "shorten it"}
	case strings.ContainsFunc(text, unicode.IsControl):
		return problem{codes.Name, "a name cannot contain control characters", "write it without them"}
	}
	return problem{}
}

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
	e.at(e.version.Span)
	e.Switch(e.Field(derived.Action), outside, actionCases(actions, inside)...)
	e.Place(inside)
}

// approve holds where an operation is one of the list.
func (e *emitter) approve(operations *List, key *Key, slot, message string) {
	next := e.NewLabel()
	e.blocking(operations)
	e.Test(vm.OpIn, vm.Unless, e.Field(slot), e.exactly(operations.Texts()...), next)
	e.Hold(e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}))
	e.Place(next)
}

// taskLimit returns the row of such a limit.
func taskLimit[S any](limit func(*S) **Count, slot, message string, row Key) *Key {
	row.Code, row.Codes = errcode.ImpactLimit, []errcode.Code{errcode.TaskIDRequired}
	row.perTask = &perTask{func(parts Parts) *Count { return *limit(part[S](parts)) }, slot, message}
	return key(counts, limit, row)
}

// impact plans the counter of one limit. An amount that can't be read is denied by it.
func (e *emitter) impact(key *Key, limit *Count) {
	next, has := e.NewLabel(), e.NewLabel()
	task := e.Field(slotTaskID)
	e.at(limit.Span)
	e.Kind(vm.Unless, task, absent, has)
	e.deny(key.Rule, errcode.TaskIDRequired, "the policy limits what a task does, and the intent has no task_id", vm.Blame{Slot: task}, next)
	e.Place(has)
	e.Reserve(e.Counter(vm.Counter{
		Name:      key.Rule,
		Rule:      e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: key.perTask.message}),
		Op:        vm.Sum,
		Limit:     amount.FromUint64(limit.N),
		Unit:      key.Unit,
		Amount:    e.Field(key.perTask.slot),
		Window:    vm.Task,
		Group:     task,
		GroupName: slotTaskID,
	}))
	e.Place(next)
}

// which returns the words of a vocabulary that are so.
func which(words []string, is func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !is(word) })
}

// evidence denies where the shim does not say what is done to which files, and goes on at failed where all violations
// are wanted: then there is nothing to judge.
func (e *emitter) evidence(key *Key, failed vm.Label) {
	for _, need := range []struct {
		slot    string
		when    vm.When
		kinds   vm.KindMask
		code    errcode.Code
		message string
	}{
		{slotEffects, vm.If, aList, errcode.FileEffectRequired, "metadata.filesystem.effects is missing, empty, or holds what is no effect"},
		{slotTargets, vm.Unless, missing, errcode.FilePathRequired, "metadata.filesystem.targets is missing, empty, or holds what has no absolute path"},
		{slotTargets, vm.If, aList, errcode.FileTarget, "a target's path is not canonical, or its links were not resolved without races"},
	} {
		ok := e.NewLabel()
		e.Kind(need.when, e.Field(need.slot), need.kinds, ok)
		e.deny(key.Rule, need.code, need.message, e.value(need.slot), failed)
		e.Place(ok)
	}
}

// inside denies paths outside of roots.
func (e *emitter) inside(key *Key, roots *List, slot, message string) {
	e.insideAs(key.Rule, key.Code, roots, slot, message)
}

// insideAs is inside with the rule and code of the denial. The slot is missing where there is no path to judge.
func (e *emitter) insideAs(rule string, c errcode.Code, roots *List, slot, message string) {
	whole, own := rootTexts(roots)
	if slices.Contains(whole, "/") {
		return // every path that can be read is inside
	}
	if own {
		slot += suffixBeyond
	}
	blame := vm.Blame{Slot: e.Field(slot), Element: len(whole) > 0}
	e.unless(func(pass vm.Label) {
		e.Kind(vm.If, blame.Slot, missing, pass)
		if len(whole) > 0 {
			e.Test(vm.OpStarts, vm.If|vm.Every, blame.Slot, e.exactly(whole...), pass)
		}
	}, rule, c, message, blame)
}

// rootTexts returns what the paths inside of roots start with, as the slots have them: with a slash at the end. The root
// that means the shim's is apart.
func rootTexts(roots *List) (whole []string, own bool) {
	for _, root := range roots.Texts() {
		if root == OwnRoots {
			own = true
			continue
		}
		whole = append(whole, below(root))
	}
	return whole, own
}

// below returns what the paths inside a root start with.
func below(root string) string { return strings.TrimSuffix(root, "/") + "/" }

// provider denies hosts of repositories that a list lacks.
func (e *emitter) provider(key *Key, providers *List) {
	e.allow(key, providers, vm.OpIn, vm.If, slotGitProvider, e.exactly(providers.Texts()...), "metadata.git.provider is missing, or not in "+key.Rule)
}
