package compiler

import (
	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/amount"
	"bailiff/vm/errcode"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/resource"
	"bailiff/vm/match"
)

// Filesystem is the section `## filesystem`: effects on files.
type Filesystem struct {
	Heading
	Actions          *List // action patterns in lower case
	WriteRoots       *List // `.`, `/` or canonical absolute paths
	ReadRoots        *List // the same
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

// The types of values that only this section has.
var (
	blockedFiles = valueOf(TypePaths, (*checker).blockedFiles)
	oneName      = valueOf(TypeName, (*checker).oneName)
)

var (
	keyFileActions = key(actionPatterns, func(s *Filesystem) **List { return &s.Actions }, Key{Name: "actions",
		Code: errcode.FileEffectRequired, Codes: []errcode.Code{errcode.FilePathRequired, errcode.FileTarget},
		Doc:     "The actions that this profile governs, and thereby grants to tools.",
		Example: "actions: file.*, editor.save"})

	keyWriteRoots = key(rootLists, func(s *Filesystem) **List { return &s.WriteRoots }, Key{Name: "write_roots",
		Code: errcode.FileOutsideRoot,
		Doc:  "The directories in which files may be changed.", Example: "write_roots: ."})

	keyReadRoots = key(rootLists, func(s *Filesystem) **List { return &s.ReadRoots }, Key{Name: "read_roots",
		Code: errcode.FileOutsideRoot,
		Doc:  "The directories in which files may be read.", Example: "read_roots: ., /usr/share"})

	keyEffects = key(choices, func(s *Filesystem) **List { return &s.AllowedEffects }, Key{Name: "allowed_effects", Values: resource.Effects(),
		Code: errcode.FileEffect,
		Doc:  "What may be done to files.", Example: "allowed_effects: read, create, overwrite"})

	keyFilePaths = key(blockedFiles, func(s *Filesystem) **List { return &s.BlockedPaths }, Key{Name: "blocked_paths", Blocks: true,
		Code: errcode.FileBlockedPath,
		Doc:  "Paths that may not be touched, with all that is below them, read as `file_write.blocked_paths`. Effects that reach what a directory holds (`delete`, `rename`, `copy`, `chmod`, `chown`, `xattr`, `hard_link`, `egress`) are denied on the directories above an entry with a leading `/` or `~`, too; what an entry without one names inside of a directory is not known.", Example: "blocked_paths: ~/.ssh, .env*"})

	keyClasses = key(nameLists, func(s *Filesystem) **List { return &s.ProtectedClasses }, Key{Name: "protected_file_classes", Blocks: true,
		Code: errcode.SensitiveFile, Codes: []errcode.Code{errcode.FileTarget, errcode.SensitiveEgress},
		Doc:     "Classifications of files that may not be touched, or not with `protected_effects`.",
		Example: "protected_file_classes: secret, credential"})

	keyFilesProtectedClassCatalog = key(oneName, func(s *Filesystem) **Text { return &s.ClassCatalog }, Key{Name: "protected_class_catalog",
		Doc: "The name of the catalogue by which the shim classifies files; it is not judged.", Example: "protected_class_catalog: default-v1"})

	keyFilesProtectedEffects = key(choices, func(s *Filesystem) **List { return &s.ProtectedEffects }, Key{Name: "protected_effects", Blocks: true, Values: resource.Effects(),
		Doc:     "The effects from which `protected_file_classes` protects; without it, from all.",
		Example: "protected_effects: read, egress"})

	keyMaxFiles = key(counts, func(s *Filesystem) **Count { return &s.MaxFiles }, Key{Name: "max_files_per_action",
		Code: errcode.ImpactLimit,
		Doc:  "How many files one action may touch.", Example: "max_files_per_action: 20"})

	keyBytesWritten = taskLimit(func(s *Filesystem) **Count { return &s.MaxBytesWritten },
		slotBytesWritten, "the task would write more bytes than allowed, or the intent does not say how many", Key{Name: "max_bytes_written_per_task", Unit: "bytes",
			Doc: "How many bytes a task may write.", Example: "max_bytes_written_per_task: 10485760"})

	keyBytesDeleted = taskLimit(func(s *Filesystem) **Count { return &s.MaxBytesDeleted },
		slotBytesDeleted, "the task would delete more bytes than allowed, or the intent does not say how many", Key{Name: "max_bytes_deleted_per_task", Unit: "bytes",
			Doc: "How many bytes a task may delete.", Example: "max_bytes_deleted_per_task: 1048576"})

	keyDestructive = taskLimit(func(s *Filesystem) **Count { return &s.MaxDestructive },
		slotDestructive, "the task would have more destructive effects than allowed", Key{Name: "max_destructive_effects_per_task", Unit: "destructive effects",
			Doc:     "How often a task may overwrite, truncate, delete or rename a file.",
			Example: "max_destructive_effects_per_task: 50"})

	keyFilesShim = profileShimKey(func(s *Filesystem) **Flag { return &s.RequireShim })
)

var filesystem = profile(section[Filesystem]("filesystem", v21, "A resource profile: effects on files.",
	keyFileActions, keyWriteRoots, keyReadRoots, keyEffects, keyFilePaths, keyClasses, keyFilesProtectedClassCatalog,
	keyFilesProtectedEffects, keyMaxFiles, keyBytesWritten, keyBytesDeleted, keyDestructive, keyFilesShim))

// blockedFiles reads a list of blocked paths, as those of `file_write.blocked_paths`.
func (c *checker) blockedFiles(entry *grammar.Entry) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.list(entry) {
		patterns, err := blockedPath(item.Text)
		if err != nil {
			c.add(grammar.At(codes.BlockedPath, item.Span, "%s", err))
		}
		for _, pattern := range patterns {
			if !seen[pattern] {
				seen[pattern] = true
				list.Items = append(list.Items, Item{pattern, item.Span})
			}
		}
	}
	return list
}

// filesystemRules returns the rules of `## filesystem`.
func (e *emitter) filesystemRules() []profileRule {
	return []profileRule{{profilesOf(e.parts).ByFilesystem(), e.filesystem}}
}

func (e *emitter) filesystem() {
	f := part[Filesystem](e.parts)
	failed := e.NewLabel()
	e.at(f.Span)
	e.evidence(keyFileActions, failed)
	if f.AllowedEffects != nil {
		e.allowing(f.AllowedEffects)
		e.unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotEffects), e.exactly(f.AllowedEffects.Texts()...), pass)
		}, keyEffects.Rule, keyEffects.Code, "an effect is not in filesystem.allowed_effects", e.element(slotEffects))
	}
	if f.WriteRoots != nil {
		e.allowing(f.WriteRoots)
		e.inside(keyWriteRoots, f.WriteRoots, slotWritten, "the intent writes outside of filesystem.write_roots")
	}
	if f.ReadRoots != nil {
		e.allowing(f.ReadRoots)
		e.inside(keyReadRoots, f.ReadRoots, slotRead, "the intent reads outside of filesystem.read_roots")
	}
	if f.BlockedPaths != nil {
		e.blockedFiles(f.BlockedPaths)
	}
	if f.ProtectedClasses != nil {
		e.protectedClasses(f)
	}
	if f.MaxFiles != nil {
		e.maxFiles(f.MaxFiles)
	}
	e.Place(failed)
}

// blockedFiles denies blocked paths, and effects on a directory that reach a blocked path inside of it.
func (e *emitter) blockedFiles(blocked *List) {
	e.blocking(blocked)
	e.unless(func(pass vm.Label) {
		e.unlessAny(e.Field(slotFilePaths), e.pathTests(blocked.Texts()), pass)
	}, keyFilePaths.Rule, keyFilePaths.Code, "a file is an entry of filesystem.blocked_paths, or below one, or nobody can tell which file it is", e.element(slotFilePaths))
	above := fspath.Above(blocked.Texts())
	if len(above) == 0 {
		return
	}
	e.unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotEffects), e.exactly(which(resource.Effects(), resource.TakesAlong)...), pass)
		e.Test(vm.OpGlob, vm.Unless, e.Field(slotFilePaths), e.Globs(match.Segmented, above...), pass)
	}, keyFilePaths.Rule, keyFilePaths.Code, "a directory holds an entry of filesystem.blocked_paths, which the effect would reach", e.element(slotFilePaths))
}

// protectedClasses denies files of protected classes, all effects on them or those that are named.
func (e *emitter) protectedClasses(f *Filesystem) {
	next := e.NewLabel()
	e.at(f.ProtectedClasses.Span)
	e.classified(keyClasses, next)
	if f.ProtectedEffects != nil {
		e.at(f.ProtectedEffects.Span)
		e.Test(vm.OpIn, vm.Unless, e.Field(slotEffects), e.exactly(f.ProtectedEffects.Texts()...), next)
	}
	e.blocking(f.ProtectedClasses)
	e.sensitive(keyClasses, "the file is of a class in filesystem.protected_file_classes", func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotClasses), e.exactly(f.ProtectedClasses.Texts()...), pass)
	})
	e.Place(next)
}

// maxFiles denies more targets than an action may have. A number that can't be read leaves the register unset, so that
// the comparison goes on at the denial.
func (e *emitter) maxFiles(limit *Count) {
	e.at(limit.Span)
	e.unless(func(pass vm.Label) {
		compare := e.NewLabel()
		e.Load(0, e.Field(slotFileCount), 0, compare)
		e.Place(compare)
		e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(amount.FromUint64(limit.N), 0), pass)
	}, keyMaxFiles.Rule, keyMaxFiles.Code, "the intent has more targets than filesystem.max_files_per_action", e.value(slotFileCount))
}
