package profiles

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
	"bailiff/vm/slot/derived"
)

// The types of values that several profiles have.
var (
	rootLists = frame.ValueOf(frame.TypeRoots, readRoots)
	nameLists = frame.NamesOf(frame.TypeNames, checkName)
)

// profile marks a section as a resource profile, whose values take no quotes.
func profile(s *frame.Section) *frame.Section {
	for _, row := range s.Keys {
		row.Bare = true
	}
	return s
}

// profileShimKey returns the row of `require_shim` of a profile, which says nothing that is judged.
func profileShimKey[S any](field func(*S) **frame.Flag) *frame.Key {
	return frame.NewKey(frame.Booleans, field, frame.Key{Name: frame.NameShim, Default: "false",
		Doc:     "Declares that a trusted shim watches over the profile; the policy is not deployed without it. Intents that the profile governs need a shim in any case.",
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
func checkBlocked(c *frame.Checker, allowed, blocked *frame.List) {
	if blocked == nil {
		return
	}
	for _, item := range blocked.Items {
		if slices.Contains(allowed.Texts(), item.Text) {
			c.Add(grammar.At(codes.AllowedAndBlocked, item.Span, "`%s` is in `allowed_operations` too, and is denied", item.Text).
				WithHint("remove it from `allowed_operations`"))
		}
	}
}

// checkApproval reports operations on which a person would have to decide, and which are denied before.
func checkApproval(c *frame.Checker, section string, allowed, approval *frame.List) {
	if allowed == nil || approval == nil || c.Lost(section, "allowed_operations") {
		return
	}
	for _, item := range approval.Items {
		if !slices.Contains(allowed.Texts(), item.Text) {
			c.Add(grammar.At(codes.ApprovalDenied, item.Span, "`%s` is not in `allowed_operations`, so it is denied before anybody could approve it", item.Text).
				WithHint("add it to `allowed_operations` if a person is to decide; as it is, it is denied"))
		}
	}
}

// maxNameBytes bounds the names of a profile: refs, tables, routines, classes. It is more than git and databases take.
const maxNameBytes = 256

// OwnRoots is the root that means those that the shim reports.
const OwnRoots = "."

// Unquoted reports values between quotes: a profile's values are taken as they are, so that quotes would be part of
// them.
func Unquoted(c *frame.Checker, row *frame.Key, value *grammar.Value) {
	for _, item := range value.Items {
		if !item.Quoted {
			continue
		}
		d := grammar.At(codes.QuotedInProfile, item.Span, "write the values of `%s` without quotes", row.Name).
			WithHint("remove the quotes")
		if item.Text != "" && !strings.ContainsAny(item.Text, "\"'#,<") && strings.TrimSpace(item.Text) == item.Text {
			d = d.WithFix(item.Span, item.Text)
		}
		c.Add(d)
	}
}

// readRoots reads a list of roots.
func readRoots(c *frame.Checker, entry *grammar.Entry) *frame.List {
	list := &frame.List{Span: entry.Span}
	for _, item := range c.List(entry) {
		if item.Text == OwnRoots || resource.CanonicalRoot(item.Text) {
			list.Items = append(list.Items, frame.Item{Text: item.Text, Span: item.Span})
		} else {
			c.Add(notRoot(item))
		}
	}
	return list
}

// notRoot reports what is no root. The fix is there where the text means one directory only.
func notRoot(item grammar.Item) grammar.Diagnostic {
	d := grammar.At(codes.Root, item.Span, "`%s` cannot be a root: it %s", frame.Shorten(item.Text), resource.WhyNotCanonical(item.Text))
	clean := path.Clean(item.Text)
	switch {
	case clean == OwnRoots:
		return d.WithHint("write `.`").WithFix(item.Span, OwnRoots)
	case resource.CanonicalRoot(clean) && !strings.Contains(item.Text, ".."):
		return d.WithHint("write `%s`", frame.Shorten(clean)).WithFix(item.Span, clean)
	case strings.HasPrefix(item.Text, "~"):
		return d.WithHint("a shim reports whole paths; write the home directory out")
	}
	return d.WithHint("write a whole path, such as /workspace/repository, or `.` for the roots that the shim reports")
}

// readOneName reads a value that is one name. It returns nil after reporting.
func readOneName(c *frame.Checker, entry *grammar.Entry) *frame.Text {
	value := entry.Value
	if len(value.Items) > 1 {
		c.Add(grammar.At(codes.Name, value.Span, "this is one name, and no list").WithHint("write one name, without commas"))
		return nil
	}
	if c.RefuseName(checkName(value.Text), value.Span) {
		return nil
	}
	return &frame.Text{Span: entry.Span, Item: frame.Item{Text: value.Text, Span: value.Span}}
}

// checkName bounds a name: of a class, an environment, a routine.
func checkName(text string) frame.Problem {
	switch {
	case text == "":
		return frame.Problem{Code: codes.Name, Message: "a name is not empty", Remedy: "write the name, or remove the line"}
	case len(text) > maxNameBytes:
		return frame.Problem{Code: codes.Name, Message: fmt.Sprintf("a name has at most %d bytes, and this one %d", maxNameBytes, len(text)), Remedy: "shorten it"}
	case strings.ContainsFunc(text, unicode.IsControl):
		return frame.Problem{Code: codes.Name, Message: "a name cannot contain control characters", Remedy: "write it without them"}
	}
	return frame.Problem{}
}

// The slots that the rules of resource profiles read.
var (
	SlotBoundary        = derived.Boundary
	slotEffects         = derived.Effects
	slotTargets         = derived.Targets
	SlotWritten         = derived.Written
	slotRead            = derived.Read
	slotWrittenRoots    = derived.WrittenRoots
	SlotFilePaths       = derived.Paths
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
	SlotGitRefs         = derived.Refs
	slotGitForced       = derived.Forced
	slotGitBranch       = derived.Branch
	slotGitChanges      = derived.Changes
	slotWorktree        = derived.Worktree
	slotGitProvider     = derived.Provider
	slotRemoteScheme    = derived.RemoteScheme
	slotDBOperations    = derived.Operations
	slotDBStatements    = derived.Statements
	slotDBEnvironment   = derived.Environment
	SlotDBResources     = derived.Resources
	slotDBCapabilities  = derived.Capabilities
	slotDBSchemaChanges = derived.SchemaChanges

	// suffixBeyond makes of a slot of paths the one of those that are in none of the shim's roots.
	suffixBeyond = ".beyond"
)

// RuleBoundary is the rule of what no key says: governed intents need a shim (decisions, section 2, "Resource profiles").
const RuleBoundary = "execution.boundary"

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
func bind(e *frame.Emitter, rules []profileRule) {
	rules = slices.DeleteFunc(rules, func(r profileRule) bool { return len(r.actions) == 0 })
	if len(rules) == 0 {
		return
	}
	var all []string
	for _, rule := range rules {
		all = patterns(all, rule.actions)
	}
	done := e.NewLabel()
	emitOnly(e, all, done)
	for len(rules) > 0 {
		actions, next := rules[0].actions, e.NewLabel()
		if !slices.Equal(actions, all) {
			emitOnly(e, actions, next)
		}
		for len(rules) > 0 && slices.Equal(rules[0].actions, actions) {
			rules[0].emit()
			rules = rules[1:]
		}
		e.Place(next)
	}
	e.Place(done)
}

// emitOnly goes on at outside for actions that no pattern covers.
func emitOnly(e *frame.Emitter, actions []string, outside vm.Label) {
	if slices.Contains(actions, "*") {
		return // every action is covered, and a switch takes no empty prefix
	}
	inside := e.NewLabel()
	e.At(e.Version.Span)
	e.Switch(e.Field(derived.Action), outside, frame.ActionCases(actions, inside)...)
	e.Place(inside)
}

// emitApprove holds where an operation is one of the list.
func emitApprove(e *frame.Emitter, operations *frame.List, key *frame.Key, slot, message string) {
	next := e.NewLabel()
	e.Blocking(operations)
	e.Test(vm.OpIn, vm.Unless, e.Field(slot), e.Exactly(operations.Texts()...), next)
	e.Hold(e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}))
	e.Place(next)
}

// taskLimit returns the row of a limit on what a task does in sum.
func taskLimit[S any](limit func(*S) **frame.Count, slot, message string, row frame.Key) *frame.Key {
	row.Code, row.Codes = errcode.ImpactLimit, []errcode.Code{errcode.TaskIDRequired}
	row.PerTask = &frame.PerTask{Limit: func(parts frame.Parts) *frame.Count { return *limit(frame.Part[S](parts)) }, Slot: slot, Message: message}
	return frame.NewKey(frame.Counts, limit, row)
}

// impact plans the counter of one limit. An amount that can't be read is denied by it.
func impact(e *frame.Emitter, key *frame.Key, limit *frame.Count) {
	next, has := e.NewLabel(), e.NewLabel()
	task := e.Field(frame.SlotTaskID)
	e.At(limit.Span)
	e.Kind(vm.Unless, task, frame.Absent, has)
	e.DenyBy(key.Rule, errcode.TaskIDRequired, "the policy limits what a task does, and the intent has no task_id", vm.Blame{Slot: task}, next)
	e.Place(has)
	e.Reserve(e.Counter(vm.Counter{
		Name:      key.Rule,
		Rule:      e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: key.PerTask.Message}),
		Op:        vm.Sum,
		Limit:     amount.FromUint64(limit.N),
		Unit:      key.Unit,
		Amount:    e.Field(key.PerTask.Slot),
		Window:    vm.Task,
		Group:     task,
		GroupName: frame.SlotTaskID,
	}))
	e.Place(next)
}

// which returns the words of a vocabulary that are so.
func which(words []string, is func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !is(word) })
}

// evidence denies where the shim does not say what is done to which files, and goes on at failed where all violations
// are wanted: then there is nothing to judge.
func evidence(e *frame.Emitter, key *frame.Key, failed vm.Label) {
	for _, need := range []struct {
		slot    string
		when    vm.When
		kinds   vm.KindMask
		code    errcode.Code
		message string
	}{
		{slotEffects, vm.If, aList, errcode.FileEffectRequired, "metadata.filesystem.effects is missing, empty, or contains an unknown effect"},
		{slotTargets, vm.Unless, missing, errcode.FilePathRequired, "metadata.filesystem.targets is missing, empty, or contains a target without an absolute path"},
		{slotTargets, vm.If, aList, errcode.FileTarget, "a target's path is not canonical, or its links were not resolved without races"},
	} {
		ok := e.NewLabel()
		e.Kind(need.when, e.Field(need.slot), need.kinds, ok)
		e.DenyBy(key.Rule, need.code, need.message, e.Value(need.slot), failed)
		e.Place(ok)
	}
}

// emitInside denies paths outside of roots.
func emitInside(e *frame.Emitter, key *frame.Key, roots *frame.List, slot, message string) {
	insideAs(e, key.Rule, key.Code, roots, slot, message)
}

// insideAs is emitInside with the rule and code of the denial. The slot is missing where there is no path to judge.
func insideAs(e *frame.Emitter, rule string, c errcode.Code, roots *frame.List, slot, message string) {
	whole, own := rootTexts(roots)
	if slices.Contains(whole, "/") {
		return // every path that can be read is inside
	}
	if own {
		slot += suffixBeyond
	}
	blame := vm.Blame{Slot: e.Field(slot), Element: len(whole) > 0}
	e.Unless(func(pass vm.Label) {
		e.Kind(vm.If, blame.Slot, missing, pass)
		if len(whole) > 0 {
			e.Test(vm.OpStarts, vm.If|vm.Every, blame.Slot, e.Exactly(whole...), pass)
		}
	}, rule, c, message, blame)
}

// rootTexts returns what the paths inside of roots start with, as the slots have them: with a slash at the end. The root
// that means the shim's is apart.
func rootTexts(roots *frame.List) (whole []string, own bool) {
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
func provider(e *frame.Emitter, key *frame.Key, providers *frame.List) {
	e.Allow(key, providers, vm.OpIn, vm.If, slotGitProvider, e.Exactly(providers.Texts()...), "metadata.git.provider is missing, or not in "+key.Rule)
}
