package compiler

import (
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
)

// Repository is the section `## repository`: the repository that tools work in.
type Repository struct {
	Heading
	Roots                 *List // `.`, `/` or canonical absolute paths
	BlockOutsideWrites    *Flag
	ProtectGitHistory     *Flag
	ProtectSensitiveFiles *Flag
	GitProviders          *List
	RequireShim           *Flag
}

var (
	keyRepoRoots = key(rootLists, func(p *Policy) **List { return &p.Repository.Roots }, Key{Name: "roots",
		Code: errcode.RootMutation, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.GitTopology},
		Doc:     "The directories that make up the repository, which nothing may replace as a whole; `.` stands for the roots that the shim reports.",
		Example: "roots: /workspace/repository"})

	keyRepoOutside = key(booleans, func(p *Policy) **Flag { return &p.Repository.BlockOutsideWrites }, Key{Name: "block_outside_writes",
		Code: errcode.FileOutsideRoot,
		Doc:  "Whether files outside of `roots` may only be read.", Example: "block_outside_writes: true"})

	keyRepoHistory = key(booleans, func(p *Policy) **Flag { return &p.Repository.ProtectGitHistory }, Key{Name: "protect_git_history",
		Code: errcode.FileBlockedPath, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.GitOperation},
		Doc:     "Whether nothing may write to `.git` or below it, in any spelling of that name, nor delete, move or copy away the work tree (`metadata.git.worktree`, or a root) that holds it; and git operations that can lose commits or refs are denied.",
		Example: "protect_git_history: true"})

	keyRepoSensitive = key(booleans, func(p *Policy) **Flag { return &p.Repository.ProtectSensitiveFiles }, Key{Name: "protect_sensitive_files",
		Code: errcode.SensitiveFile, Codes: []errcode.Code{errcode.FileEffectRequired, errcode.FilePathRequired, errcode.FileTarget, errcode.SensitiveEgress},
		Doc:     "Whether files may be touched only if they are classified as `none`, `normal`, `ordinary`, `public` or `source`.",
		Example: "protect_sensitive_files: true"})

	keyRepoProviders = key(choices, func(p *Policy) **List { return &p.Repository.GitProviders }, Key{Name: "git_providers", Values: resource.GitProviders(),
		Code: errcode.Provider,
		Doc:  "The hosts of git repositories that may be worked with.", Example: "git_providers: github, gitlab"})

	keyRepositoryShim = profileShimKey(func(p *Policy) **Flag { return &p.Repository.RequireShim })
)

var repository = profile(section("repository", v21, "A resource profile: the repository that tools work in.", func(p *Policy) **Repository { return &p.Repository },
	keyRepoRoots, keyRepoOutside, keyRepoHistory, keyRepoSensitive, keyRepoProviders, keyRepositoryShim))
