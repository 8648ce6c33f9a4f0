package compiler

import (
	"slices"

	"bailiff/grammar"
)

// Profiles are the resource profiles that a policy declares. A nil one is absent.
type Profiles struct {
	Repository *Repository
	Filesystem *Filesystem
	Git        *Git
	Database   *Database
}

// Repository is the section `## repository`: the repository that tools work in.
type Repository struct {
	Span                  grammar.Span // of the heading
	Roots                 *List        // `.`, `/` or canonical absolute paths
	BlockOutsideWrites    *Flag
	ProtectGitHistory     *Flag
	ProtectSensitiveFiles *Flag
	GitProviders          *List
	RequireShim           *Flag
}

// Filesystem is the section `## filesystem`: effects on files.
type Filesystem struct {
	Span             grammar.Span // of the heading
	Actions          *List        // action patterns in lower case
	WriteRoots       *List        // `.`, `/` or canonical absolute paths
	ReadRoots        *List        // the same
	AllowedEffects   *List
	BlockedPaths     *List // patterns over cleaned paths
	ProtectedClasses *List
	ClassCatalog     *Text
	ProtectedEffects *List
	MaxFiles         *Count // an action
	MaxBytesWritten  *Count // a task
	MaxBytesDeleted  *Count // a task
	MaxDestructive   *Count // effects times targets of a task
	RequireShim      *Flag
}

// Git is the section `## git`: operations on git repositories.
type Git struct {
	Span              grammar.Span // of the heading
	Actions           *List        // action patterns in lower case
	FilesystemActions *List        // the same
	Providers         *List
	RemoteSchemes     *List
	Allowed           *List
	Approval          *List // of Allowed
	Blocked           *List // none of Allowed
	ProtectedRefs     *List // refs, or the beginning of refs and `*`
	MaxRefChanges     *Count
	RequireShim       *Flag
}

// Database is the section `## database`: operations on databases.
type Database struct {
	Span               grammar.Span // of the heading
	Actions            *List        // action patterns in lower case
	Environments       *List        // lower case
	Allowed            *List
	Approval           *List // of Allowed
	Resources          *List // patterns in which `*` crosses no dot unless it is last
	Routines           *List // exact
	ReadOnlyForSelect  *Flag
	DenyIndirect       *Flag
	MaxSchemaChanges   *Count
	StatementTimeoutMs *Count // for the shim; not judged
	LockTimeoutMs      *Count // the same
	RequireShim        *Flag
}

// A declaredProfile is what all profiles have.
type declaredProfile struct {
	name        string
	span        grammar.Span
	requireShim *Flag
}

// all returns the profiles that are there, in the order in which they judge.
func (p *Profiles) all() []declaredProfile {
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
func (p *Profiles) declared() bool { return len(p.all()) > 0 }

// Names returns the names of the profiles that the policy declares, in the order in which they judge.
func (p *Profiles) Names() []string {
	var names []string
	for _, profile := range p.all() {
		names = append(names, profile.name)
	}
	return names
}

// Unshimmed returns the names of the profiles that would have to say `require_shim: true` and do not. Deployment refuses
// a policy that has any (decisions, section 5, "Trusted shim").
func (p *Policy) Unshimmed() []string {
	var names []string
	for _, profile := range p.Profiles.all() {
		if !isOn(profile.requireShim) {
			names = append(names, profile.name)
		}
	}
	return names
}

func isOn(flag *Flag) bool { return flag != nil && flag.On }

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
	return p.Filesystem.Actions.texts()
}

// gitFileActions returns the patterns of `git.filesystem_actions`.
func (p *Profiles) gitFileActions() []string {
	if p.Git == nil {
		return nil
	}
	return p.Git.FilesystemActions.texts()
}

// byFilesystem returns the patterns of the actions that the filesystem profile governs.
func (p *Profiles) byFilesystem() []string {
	if p.Filesystem == nil {
		return nil
	}
	return patterns(p.fileActions(), p.gitFileActions())
}

// byGit returns the patterns of the actions that the git profile governs.
func (p *Profiles) byGit() []string {
	if p.Git == nil {
		return nil
	}
	return patterns(p.Git.Actions.texts(), p.gitFileActions())
}

// byDatabase returns the patterns of the actions that the database profile governs.
func (p *Profiles) byDatabase() []string {
	if p.Database == nil {
		return nil
	}
	return patterns(p.Database.Actions.texts())
}

// repositoryTools are the tools that the repository profile governs of itself.
var repositoryTools = []string{"bash", "file_write"}

// repositoryFiles returns the patterns of the actions whose files the repository profile judges.
func (p *Profiles) repositoryFiles() []string {
	return patterns(repositoryTools, p.fileActions(), p.gitFileActions())
}

// granted returns the patterns of the actions that a profile grants.
func (p *Profiles) granted() []string { return patterns(p.fileActions(), p.byGit(), p.byDatabase()) }

// grantAll reports whether a profile grants every tool.
func (p *Profiles) grantAll() bool { return slices.Contains(p.granted(), "*") }

// governed returns the patterns of the actions that any profile governs.
func (p *Profiles) governed() []string {
	if p.Repository == nil {
		return p.granted()
	}
	return patterns(repositoryTools, p.granted())
}
