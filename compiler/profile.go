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
func profileShimKey(field func(*Policy) **Flag) *Key {
	return key(booleans, field, Key{Name: nameShim, Default: "false",
		Doc:     "Says that a trusted shim watches over the profile, without which it is not deployed; governed intents need a shim whatever it says.",
		Example: "require_shim: true"})
}

// Profiles are the resource profiles that a policy declares. A nil one is absent.
type Profiles struct {
	Repository *Repository
	Filesystem *Filesystem
	Git        *Git
	Database   *Database
}

// A declaredProfile is what all profiles have.
type declaredProfile struct {
	Name        string
	Span        grammar.Span
	RequireShim *Flag
}

// all returns the profiles that are there, in the order in which they judge.
func (p *Profiles) All() []declaredProfile {
	var all []declaredProfile
	if r := p.Repository; r != nil {
		all = append(all, declaredProfile{"repository", r.Span, r.RequireShim})
	}
	if f := p.Filesystem; f != nil {
		all = append(all, declaredProfile{"filesystem", f.Span, f.RequireShim})
	}
	if g := p.Git; g != nil {
		all = append(all, declaredProfile{"git", g.Span, g.RequireShim})
	}
	if d := p.Database; d != nil {
		all = append(all, declaredProfile{"database", d.Span, d.RequireShim})
	}
	return all
}

// declared reports whether the policy has any profile.
func (p *Profiles) Declared() bool { return len(p.All()) > 0 }

// Names returns the names of the profiles that the policy declares, in the order in which they judge.
func (p *Profiles) Names() []string {
	var names []string
	for _, profile := range p.All() {
		names = append(names, profile.Name)
	}
	return names
}

// Unshimmed returns the names of the profiles that would have to say `require_shim: true` and do not. Deployment refuses
// a policy that has any (decisions, section 5, "Trusted shim").
func (p *Policy) Unshimmed() []string {
	var names []string
	for _, profile := range p.Profiles.All() {
		if !IsOn(profile.RequireShim) {
			names = append(names, profile.Name)
		}
	}
	return names
}

func IsOn(flag *Flag) bool { return flag != nil && flag.On }

// patterns joins lists of action patterns, sorted and each once.
func patterns(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// fileActions returns the patterns of `filesystem.actions`.
func (p *Profiles) fileActions() []string {
	if p.Filesystem == nil {
		return nil
	}
	return p.Filesystem.Actions.Texts()
}

// gitFileActions returns the patterns of `git.filesystem_actions`.
func (p *Profiles) gitFileActions() []string {
	if p.Git == nil {
		return nil
	}
	return p.Git.FilesystemActions.Texts()
}

// byFilesystem returns the patterns of the actions that the filesystem profile governs.
func (p *Profiles) ByFilesystem() []string {
	if p.Filesystem == nil {
		return nil
	}
	return patterns(p.fileActions(), p.gitFileActions())
}

// byGit returns the patterns of the actions that the git profile governs.
func (p *Profiles) ByGit() []string {
	if p.Git == nil {
		return nil
	}
	return patterns(p.Git.Actions.Texts(), p.gitFileActions())
}

// byDatabase returns the patterns of the actions that the database profile governs.
func (p *Profiles) ByDatabase() []string {
	if p.Database == nil {
		return nil
	}
	return patterns(p.Database.Actions.Texts())
}

// repositoryTools are the tools that the repository profile governs of itself.
var repositoryTools = []string{"bash", "file_write"}

// repositoryFiles returns the patterns of the actions whose files the repository profile judges.
func (p *Profiles) repositoryFiles() []string {
	return patterns(repositoryTools, p.fileActions(), p.gitFileActions())
}

// granted returns the patterns of the actions that a profile grants.
func (p *Profiles) Granted() []string { return patterns(p.fileActions(), p.ByGit(), p.ByDatabase()) }

// grantAll reports whether a profile grants every tool.
func (p *Profiles) grantAll() bool { return slices.Contains(p.Granted(), "*") }

// governed returns the patterns of the actions that any profile governs.
func (p *Profiles) governed() []string {
	if p.Repository == nil {
		return p.Granted()
	}
	return patterns(repositoryTools, p.Granted())
}

// finishProfiles checks what concerns several entries of the resource profiles.
func (c *checker) finishProfiles() {
	p := &c.policy.Profiles
	if r := p.Repository; r != nil && IsOn(r.BlockOutsideWrites) && r.Roots == nil && !c.lost("repository", "roots") {
		c.add(grammar.At(codes.OutsideOfNothing, r.BlockOutsideWrites.Span, "`block_outside_writes` needs `roots`, outside of which nothing is written").
			WithHint("name them: `roots: .` for those that the shim reports, or `roots: /workspace/repository`"))
	}
	if g := p.Git; g != nil {
		c.checkBlocked(g.Allowed, g.Blocked)
		c.checkApproval("git", g.Allowed, g.Approval)
	}
	if d := p.Database; d != nil {
		c.checkApproval("database", d.Allowed, d.Approval)
	}
}

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

// A problem says what is wrong with a name and what to do; it is empty where nothing is.
type problem struct {
	code            grammar.Code
	message, remedy string
}

// nameList reads a list of names that check has nothing against.
func (c *checker) nameList(entry *grammar.Entry, check func(text string) problem) *List {
	list := &List{Span: entry.Span}
	for _, item := range c.list(entry) {
		if found := check(item.Text); c.refuseName(found, item.Span) && found.code != codes.Ref {
			continue // a ref is kept: in a policy that is in force the finding is a warning
		}
		list.Items = append(list.Items, Item{item.Text, item.Span})
	}
	return list
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

// refuseName reports a problem, if there is one.
func (c *checker) refuseName(p problem, span grammar.Span) bool {
	if p.message == "" {
		return false
	}
	d := grammar.At(p.code, span, "%s", p.message)
	if p.remedy != "" {
		d = d.WithHint("%s", p.remedy)
	}
	c.add(d)
	return true
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
	e.at(e.policy.Version.Span)
	e.Switch(e.Field(derived.Action), outside, actionCases(actions, inside)...)
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
	actions := e.policy.Profiles.Granted()
	if len(actions) == 0 {
		return
	}
	e.at(e.policy.Version.Span)
	if e.policy.Profiles.grantAll() {
		e.Kind(vm.If, e.Field(derived.Action), aText, granted) // a switch takes no empty prefix
		return
	}
	next := e.NewLabel()
	e.Switch(e.Field(derived.Action), next, actionCases(actions, granted)...)
	e.Place(next)
}

// profileApprovals holds governed intents on whose operations a person has to decide.
func (e *emitter) profileApprovals() {
	p := &e.policy.Profiles
	var rules []profileRule
	if g := p.Git; g != nil && g.Approval != nil {
		rules = append(rules, profileRule{p.ByGit(), func() {
			e.approve(g.Approval, keyGitApproval, slotGitOperation, "a person has to decide on the git operation")
		}})
	}
	if d := p.Database; d != nil && d.Approval != nil {
		rules = append(rules, profileRule{p.ByDatabase(), func() {
			e.approve(d.Approval, keyDBApproval, slotDBOperations, "a person has to decide on the database operation")
		}})
	}
	e.bind(rules)
}

// approve holds where an operation is one of the list.
func (e *emitter) approve(operations *List, key *Key, slot, message string) {
	next := e.NewLabel()
	e.blocking(operations)
	e.Test(vm.OpIn, vm.Unless, e.Field(slot), e.exactly(operations.Texts()...), next)
	e.Hold(e.Rule(vm.Rule{Name: key.Rule, Code: string(key.Code), Message: message}))
	e.Place(next)
}

// perTask is a limit of a profile on the sum of what a task does.
type perTask struct {
	limit   func(*Policy) **Count
	slot    string // what is summed
	message string
}

// taskLimit returns the row of such a limit.
func taskLimit(limit func(*Policy) **Count, slot, message string, row Key) *Key {
	row.Code, row.Codes = errcode.ImpactLimit, []errcode.Code{errcode.TaskIDRequired}
	row.perTask = &perTask{limit, slot, message}
	return key(counts, limit, row)
}

// profileLimits plans the counters of the profiles' impact limits.
func (e *emitter) profileLimits() {
	p := &e.policy.Profiles
	var rules []profileRule
	for _, profile := range []struct {
		*Section
		actions []string
	}{{filesystem, p.ByFilesystem()}, {git, p.ByGit()}, {database, p.ByDatabase()}} {
		for _, row := range profile.keys {
			if row.perTask == nil || len(profile.actions) == 0 {
				continue
			}
			if limit := *row.perTask.limit(e.policy); limit != nil {
				rules = append(rules, profileRule{profile.actions, func() { e.impact(row, limit) }})
			}
		}
	}
	e.bind(rules)
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
