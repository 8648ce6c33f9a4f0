package profiles

import (
	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
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
	frame.Heading
	Actions          *frame.List // action patterns in lower case
	WriteRoots       *frame.List // `.`, `/` or canonical absolute paths
	ReadRoots        *frame.List // the same
	AllowedEffects   *frame.List
	BlockedPaths     *frame.List // patterns over cleaned paths
	ProtectedClasses *frame.List
	ClassCatalog     *frame.Text
	ProtectedEffects *frame.List
	MaxFiles         *frame.Count // an action
	MaxBytesWritten  *frame.Count // a task
	MaxBytesDeleted  *frame.Count // a task
	MaxDestructive   *frame.Count // effects times targets of a task
	RequireShim      *frame.Flag
}

// The types of values that only this section has.
var (
	blockedFiles = frame.ValueOf(frame.TypePaths, readBlockedFiles)
	oneName      = frame.ValueOf(frame.TypeName, readOneName)
)

var (
	keyFileActions = frame.NewKey(frame.ActionPatterns, func(s *Filesystem) **frame.List { return &s.Actions }, frame.Key{Name: "actions",
		Code: errcode.FileEffectRequired, Codes: []errcode.Code{errcode.FilePathRequired, errcode.FileTarget},
		Doc:     "The actions that this profile governs, and thereby grants to tools.",
		Example: "actions: file.*, editor.save"})

	keyWriteRoots = frame.NewKey(rootLists, func(s *Filesystem) **frame.List { return &s.WriteRoots }, frame.Key{Name: "write_roots",
		Code: errcode.FileOutsideRoot,
		Doc:  "The directories in which files may be changed.", Example: "write_roots: ."})

	keyReadRoots = frame.NewKey(rootLists, func(s *Filesystem) **frame.List { return &s.ReadRoots }, frame.Key{Name: "read_roots",
		Code: errcode.FileOutsideRoot,
		Doc:  "The directories in which files may be read.", Example: "read_roots: ., /usr/share"})

	keyEffects = frame.NewKey(frame.Choices, func(s *Filesystem) **frame.List { return &s.AllowedEffects }, frame.Key{Name: "allowed_effects", Values: resource.Effects(),
		Code: errcode.FileEffect,
		Doc:  "What may be done to files.", Example: "allowed_effects: read, create, overwrite"})

	keyFilePaths = frame.NewKey(blockedFiles, func(s *Filesystem) **frame.List { return &s.BlockedPaths }, frame.Key{Name: "blocked_paths", Blocks: true,
		Code: errcode.FileBlockedPath,
		Doc:  "Paths that may not be touched, with all that is below them, read as `file_write.blocked_paths`. Effects that reach what a directory holds (`delete`, `rename`, `copy`, `chmod`, `chown`, `xattr`, `hard_link`, `egress`) are denied on the directories above an entry with a leading `/` or `~`, too; what an entry without one names inside of a directory is not known.", Example: "blocked_paths: ~/.ssh, .env*"})

	keyClasses = frame.NewKey(nameLists, func(s *Filesystem) **frame.List { return &s.ProtectedClasses }, frame.Key{Name: "protected_file_classes", Blocks: true,
		Code: errcode.SensitiveFile, Codes: []errcode.Code{errcode.FileTarget, errcode.SensitiveEgress},
		Doc:     "Classifications of files that may not be touched, or not with `protected_effects`.",
		Example: "protected_file_classes: secret, credential"})

	keyFilesProtectedClassCatalog = frame.NewKey(oneName, func(s *Filesystem) **frame.Text { return &s.ClassCatalog }, frame.Key{Name: "protected_class_catalog",
		Doc: "The name of the catalogue by which the shim classifies files; it is not judged.", Example: "protected_class_catalog: default-v1"})

	keyFilesProtectedEffects = frame.NewKey(frame.Choices, func(s *Filesystem) **frame.List { return &s.ProtectedEffects }, frame.Key{Name: "protected_effects", Blocks: true, Values: resource.Effects(),
		Doc:     "The effects from which `protected_file_classes` protects; without it, from all.",
		Example: "protected_effects: read, egress"})

	keyMaxFiles = frame.NewKey(frame.Counts, func(s *Filesystem) **frame.Count { return &s.MaxFiles }, frame.Key{Name: "max_files_per_action", Unit: "targets",
		Code: errcode.ImpactLimit,
		Doc:  "How many files one action may touch.", Example: "max_files_per_action: 20"})

	keyBytesWritten = taskLimit(func(s *Filesystem) **frame.Count { return &s.MaxBytesWritten },
		slotBytesWritten, "the task would write more bytes than allowed, or the intent does not say how many", frame.Key{Name: "max_bytes_written_per_task", Unit: "bytes",
			Doc: "How many bytes a task may write.", Example: "max_bytes_written_per_task: 10485760"})

	keyBytesDeleted = taskLimit(func(s *Filesystem) **frame.Count { return &s.MaxBytesDeleted },
		slotBytesDeleted, "the task would delete more bytes than allowed, or the intent does not say how many", frame.Key{Name: "max_bytes_deleted_per_task", Unit: "bytes",
			Doc: "How many bytes a task may delete.", Example: "max_bytes_deleted_per_task: 1048576"})

	keyDestructive = taskLimit(func(s *Filesystem) **frame.Count { return &s.MaxDestructive },
		slotDestructive, "the task would have more destructive effects than allowed", frame.Key{Name: "max_destructive_effects_per_task", Unit: "destructive effects",
			Doc:     "How often a task may overwrite, truncate, delete or rename a file.",
			Example: "max_destructive_effects_per_task: 50"})

	keyFilesShim = profileShimKey(func(s *Filesystem) **frame.Flag { return &s.RequireShim })
)

// FilesystemSection is the row of `## filesystem`.
var FilesystemSection = profile(frame.NewSection[Filesystem]("filesystem", frame.V21, "A resource profile: effects on files.",
	keyFileActions, keyWriteRoots, keyReadRoots, keyEffects, keyFilePaths, keyClasses, keyFilesProtectedClassCatalog,
	keyFilesProtectedEffects, keyMaxFiles, keyBytesWritten, keyBytesDeleted, keyDestructive, keyFilesShim))

// readBlockedFiles reads a list of blocked paths, as those of `file_write.blocked_paths`.
func readBlockedFiles(c *frame.Checker, entry *grammar.Entry) *frame.List {
	list := &frame.List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.List(entry) {
		patterns, err := frame.BlockedPath(item.Text)
		if err != nil {
			c.Add(grammar.At(codes.BlockedPath, item.Span, "%s", err))
		}
		for _, pattern := range patterns {
			if !seen[pattern] {
				seen[pattern] = true
				list.Items = append(list.Items, frame.Item{Text: pattern, Span: item.Span})
			}
		}
	}
	return list
}

// filesystemRules returns the rules of `## filesystem`.
func filesystemRules(e *frame.Emitter) []profileRule {
	return []profileRule{{Of(e.Parts).ByFilesystem(), func() { emitFilesystem(e) }}}
}

func emitFilesystem(e *frame.Emitter) {
	f := frame.Part[Filesystem](e.Parts)
	failed := e.NewLabel()
	e.At(f.Span)
	evidence(e, keyFileActions, failed)
	if f.AllowedEffects != nil {
		e.Allowing(f.AllowedEffects)
		e.Unless(func(pass vm.Label) {
			e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotEffects), e.Exactly(f.AllowedEffects.Texts()...), pass)
		}, keyEffects.Rule, keyEffects.Code, "an effect is not in filesystem.allowed_effects", e.Element(slotEffects))
	}
	if f.WriteRoots != nil {
		e.Allowing(f.WriteRoots)
		emitInside(e, keyWriteRoots, f.WriteRoots, SlotWritten, "the intent writes outside of filesystem.write_roots")
	}
	if f.ReadRoots != nil {
		e.Allowing(f.ReadRoots)
		emitInside(e, keyReadRoots, f.ReadRoots, slotRead, "the intent reads outside of filesystem.read_roots")
	}
	if f.BlockedPaths != nil {
		emitBlockedFiles(e, f.BlockedPaths)
	}
	if f.ProtectedClasses != nil {
		protectedClasses(e, f)
	}
	if f.MaxFiles != nil {
		maxFiles(e, f.MaxFiles)
	}
	e.Place(failed)
}

// emitBlockedFiles denies blocked paths, and effects on a directory that reach a blocked path inside of it.
func emitBlockedFiles(e *frame.Emitter, blocked *frame.List) {
	e.Blocking(blocked)
	e.Unless(func(pass vm.Label) {
		e.UnlessAny(e.Field(SlotFilePaths), e.PathTests(blocked.Texts()), pass)
	}, keyFilePaths.Rule, keyFilePaths.Code, "a file is an entry of filesystem.blocked_paths, or below one, or its path cannot be resolved to a single file", e.Element(SlotFilePaths))
	above := fspath.Above(blocked.Texts())
	if len(above) == 0 {
		return
	}
	e.Unless(func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotEffects), e.Exactly(which(resource.Effects(), resource.TakesAlong)...), pass)
		e.Test(vm.OpGlob, vm.Unless, e.Field(SlotFilePaths), e.Globs(match.Segmented, above...), pass)
	}, keyFilePaths.Rule, keyFilePaths.Code, "a directory holds an entry of filesystem.blocked_paths, which the effect would reach", e.Element(SlotFilePaths))
}

// protectedClasses denies files of protected classes, all effects on them or those that are named.
func protectedClasses(e *frame.Emitter, f *Filesystem) {
	next := e.NewLabel()
	e.At(f.ProtectedClasses.Span)
	classified(e, keyClasses, next)
	if f.ProtectedEffects != nil {
		e.At(f.ProtectedEffects.Span)
		e.Test(vm.OpIn, vm.Unless, e.Field(slotEffects), e.Exactly(f.ProtectedEffects.Texts()...), next)
	}
	e.Blocking(f.ProtectedClasses)
	sensitive(e, keyClasses, "the file is of a class in filesystem.protected_file_classes", func(pass vm.Label) {
		e.Test(vm.OpIn, vm.Unless, e.Field(slotClasses), e.Exactly(f.ProtectedClasses.Texts()...), pass)
	})
	e.Place(next)
}

// maxFiles denies more targets than an action may have. A number that can't be read leaves the register unset, so that
// the comparison goes on at the denial.
func maxFiles(e *frame.Emitter, limit *frame.Count) {
	e.At(limit.Span)
	e.Unless(func(pass vm.Label) {
		compare := e.NewLabel()
		e.Load(0, e.Field(slotFileCount), 0, compare)
		e.Place(compare)
		e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(amount.FromUint64(limit.N), 0, keyMaxFiles.Unit), pass)
	}, keyMaxFiles.Rule, keyMaxFiles.Code, "the intent has more targets than filesystem.max_files_per_action", e.Value(slotFileCount))
}
