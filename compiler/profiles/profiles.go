package profiles

import (
	"slices"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/errcode"
	"bailiff/vm/slot/derived"
)

// Of returns the resource profiles among the sections of a policy.
func Of(parts frame.Parts) *Profiles {
	return &Profiles{frame.Part[Repository](parts), frame.Part[Filesystem](parts), frame.Part[Git](parts), frame.Part[Database](parts)}
}

// Profiles are the resource profiles that a policy declares. A nil one is absent.
type Profiles struct {
	Repository *Repository
	Filesystem *Filesystem
	Git        *Git
	Database   *Database
}

// A Profile is what all profiles have.
type Profile struct {
	Name        string
	Span        grammar.Span
	RequireShim *frame.Flag
}

// All returns the profiles that are there, in the order in which they judge.
func (p *Profiles) All() []Profile {
	var all []Profile
	if r := p.Repository; r != nil {
		all = append(all, Profile{RepositorySection.Name, r.Span, r.RequireShim})
	}
	if f := p.Filesystem; f != nil {
		all = append(all, Profile{FilesystemSection.Name, f.Span, f.RequireShim})
	}
	if g := p.Git; g != nil {
		all = append(all, Profile{GitSection.Name, g.Span, g.RequireShim})
	}
	if d := p.Database; d != nil {
		all = append(all, Profile{DatabaseSection.Name, d.Span, d.RequireShim})
	}
	return all
}

// Declared reports whether the policy has any profile.
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
func (p *Profiles) Unshimmed() []string {
	var names []string
	for _, profile := range p.All() {
		if !frame.IsOn(profile.RequireShim) {
			names = append(names, profile.Name)
		}
	}
	return names
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

// ByFilesystem returns the patterns of the actions that the filesystem profile governs.
func (p *Profiles) ByFilesystem() []string {
	if p.Filesystem == nil {
		return nil
	}
	return patterns(p.fileActions(), p.gitFileActions())
}

// ByGit returns the patterns of the actions that the git profile governs.
func (p *Profiles) ByGit() []string {
	if p.Git == nil {
		return nil
	}
	return patterns(p.Git.Actions.Texts(), p.gitFileActions())
}

// ByDatabase returns the patterns of the actions that the database profile governs.
func (p *Profiles) ByDatabase() []string {
	if p.Database == nil {
		return nil
	}
	return patterns(p.Database.Actions.Texts())
}

// repositoryFiles returns the patterns of the actions whose files the repository profile judges.
func (p *Profiles) repositoryFiles() []string {
	return patterns(repositoryTools, p.fileActions(), p.gitFileActions())
}

// Granted returns the patterns of the actions that a profile grants.
func (p *Profiles) Granted() []string { return patterns(p.fileActions(), p.ByGit(), p.ByDatabase()) }

// governed returns the patterns of the actions that any profile governs.
func (p *Profiles) governed() []string {
	if p.Repository == nil {
		return p.Granted()
	}
	return patterns(repositoryTools, p.Granted())
}

// Finish checks what concerns several entries of the resource profiles.
func Finish(c *frame.Checker) {
	p := Of(c.Parts)
	if r := p.Repository; r != nil && frame.IsOn(r.BlockOutsideWrites) && r.Roots == nil && !c.Lost("repository", "roots") {
		c.Add(grammar.At(codes.OutsideOfNothing, r.BlockOutsideWrites.Span, "`block_outside_writes` needs `roots`, outside of which nothing is written").
			WithHint("name them: `roots: .` for those that the shim reports, or `roots: /workspace/repository`"))
	}
	if g := p.Git; g != nil {
		checkBlocked(c, g.Allowed, g.Blocked)
		checkApproval(c, "git", g.Allowed, g.Approval)
	}
	if d := p.Database; d != nil {
		checkApproval(c, "database", d.Allowed, d.Approval)
	}
}

// EmitBoundary denies intents that a resource profile governs and no trusted shim vouches for.
func EmitBoundary(e *frame.Emitter) {
	bind(e, []profileRule{{Of(e.Parts).governed(), func() {
		e.Unless(func(pass vm.Label) { e.Kind(vm.If, e.Field(SlotBoundary), aText, pass) },
			RuleBoundary, errcode.ExecutionBoundary, "a resource profile governs the action, which needs a key whose provenance is a shim and metadata.execution", e.Value(SlotBoundary))
	}}})
}

// EmitRules judges governed intents by the rules of their profiles.
func EmitRules(e *frame.Emitter) {
	bind(e, slices.Concat(repositoryRules(e), filesystemRules(e), gitRules(e), databaseRules(e)))
}

// EmitGrants jumps where a profile grants the tool. Its caller must have ruled out a profile that grants every tool, since a switch takes no
// empty prefix.
func EmitGrants(e *frame.Emitter, granted vm.Label) {
	actions := Of(e.Parts).Granted()
	if len(actions) == 0 {
		return
	}
	e.At(e.Version.Span)
	next := e.NewLabel()
	e.Switch(e.Field(derived.Action), next, frame.ActionCases(actions, granted)...)
	e.Place(next)
}

// EmitApprovals holds governed intents on whose operations a person has to decide.
func EmitApprovals(e *frame.Emitter) {
	p := Of(e.Parts)
	var rules []profileRule
	if g := p.Git; g != nil && g.Approval != nil {
		rules = append(rules, profileRule{p.ByGit(), func() {
			emitApprove(e, g.Approval, keyGitApproval, slotGitOperation, "a person has to decide on the git operation")
		}})
	}
	if d := p.Database; d != nil && d.Approval != nil {
		rules = append(rules, profileRule{p.ByDatabase(), func() {
			emitApprove(e, d.Approval, keyDBApproval, slotDBOperations, "a person has to decide on the database operation")
		}})
	}
	bind(e, rules)
}

// EmitLimits plans the counters of the profiles' impact limits.
func EmitLimits(e *frame.Emitter) {
	p := Of(e.Parts)
	var rules []profileRule
	for _, profile := range []struct {
		*frame.Section
		actions []string
	}{{FilesystemSection, p.ByFilesystem()}, {GitSection, p.ByGit()}, {DatabaseSection, p.ByDatabase()}} {
		for _, row := range profile.Keys {
			if row.PerTask == nil || len(profile.actions) == 0 {
				continue
			}
			if limit := row.PerTask.Limit(e.Parts); limit != nil {
				rules = append(rules, profileRule{profile.actions, func() { impact(e, row, limit) }})
			}
		}
	}
	bind(e, rules)
}
