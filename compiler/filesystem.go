package compiler

import (
	"bailiff/grammar"
	"bailiff/vm/errcode"
	"bailiff/vm/form/resource"
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
	keyFileActions = key(actionPatterns, func(p *Policy) **List { return &p.Filesystem.Actions }, Key{Name: "actions",
		Code: errcode.FileEffectRequired, Codes: []errcode.Code{errcode.FilePathRequired, errcode.FileTarget},
		Doc:     "The actions that this profile governs, and thereby grants to tools.",
		Example: "actions: file.*, editor.save"})

	keyWriteRoots = key(rootLists, func(p *Policy) **List { return &p.Filesystem.WriteRoots }, Key{Name: "write_roots",
		Code: errcode.FileOutsideRoot,
		Doc:  "The directories in which files may be changed.", Example: "write_roots: ."})

	keyReadRoots = key(rootLists, func(p *Policy) **List { return &p.Filesystem.ReadRoots }, Key{Name: "read_roots",
		Code: errcode.FileOutsideRoot,
		Doc:  "The directories in which files may be read.", Example: "read_roots: ., /usr/share"})

	keyEffects = key(choices, func(p *Policy) **List { return &p.Filesystem.AllowedEffects }, Key{Name: "allowed_effects", Values: resource.Effects(),
		Code: errcode.FileEffect,
		Doc:  "What may be done to files.", Example: "allowed_effects: read, create, overwrite"})

	keyFilePaths = key(blockedFiles, func(p *Policy) **List { return &p.Filesystem.BlockedPaths }, Key{Name: "blocked_paths", Blocks: true,
		Code: errcode.FileBlockedPath,
		Doc:  "Paths that may not be touched, with all that is below them, read as `file_write.blocked_paths`. Effects that reach what a directory holds (`delete`, `rename`, `copy`, `chmod`, `chown`, `xattr`, `hard_link`, `egress`) are denied on the directories above an entry with a leading `/` or `~`, too; what an entry without one names inside of a directory is not known.", Example: "blocked_paths: ~/.ssh, .env*"})

	keyClasses = key(nameLists, func(p *Policy) **List { return &p.Filesystem.ProtectedClasses }, Key{Name: "protected_file_classes", Blocks: true,
		Code: errcode.SensitiveFile, Codes: []errcode.Code{errcode.FileTarget, errcode.SensitiveEgress},
		Doc:     "Classifications of files that may not be touched, or not with `protected_effects`.",
		Example: "protected_file_classes: secret, credential"})

	keyFilesProtectedClassCatalog = key(oneName, func(p *Policy) **Text { return &p.Filesystem.ClassCatalog }, Key{Name: "protected_class_catalog",
		Doc: "The name of the catalogue by which the shim classifies files; it is not judged.", Example: "protected_class_catalog: default-v1"})

	keyFilesProtectedEffects = key(choices, func(p *Policy) **List { return &p.Filesystem.ProtectedEffects }, Key{Name: "protected_effects", Blocks: true, Values: resource.Effects(),
		Doc:     "The effects from which `protected_file_classes` protects; without it, from all.",
		Example: "protected_effects: read, egress"})

	keyMaxFiles = key(counts, func(p *Policy) **Count { return &p.Filesystem.MaxFiles }, Key{Name: "max_files_per_action",
		Code: errcode.ImpactLimit,
		Doc:  "How many files one action may touch.", Example: "max_files_per_action: 20"})

	keyBytesWritten = key(counts, func(p *Policy) **Count { return &p.Filesystem.MaxBytesWritten }, Key{Name: "max_bytes_written_per_task",
		Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc: "How many bytes a task may write.", Example: "max_bytes_written_per_task: 10485760"})

	keyBytesDeleted = key(counts, func(p *Policy) **Count { return &p.Filesystem.MaxBytesDeleted }, Key{Name: "max_bytes_deleted_per_task",
		Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc: "How many bytes a task may delete.", Example: "max_bytes_deleted_per_task: 1048576"})

	keyDestructive = key(counts, func(p *Policy) **Count { return &p.Filesystem.MaxDestructive }, Key{Name: "max_destructive_effects_per_task",
		Code: errcode.ImpactLimit, Codes: []errcode.Code{errcode.TaskIDRequired},
		Doc:     "How often a task may overwrite, truncate, delete or rename a file.",
		Example: "max_destructive_effects_per_task: 50"})

	keyFilesShim = profileShimKey(func(p *Policy) **Flag { return &p.Filesystem.RequireShim })
)

var filesystem = profile(section("filesystem", v21, "A resource profile: effects on files.", func(p *Policy) **Filesystem { return &p.Filesystem },
	keyFileActions, keyWriteRoots, keyReadRoots, keyEffects, keyFilePaths, keyClasses, keyFilesProtectedClassCatalog,
	keyFilesProtectedEffects, keyMaxFiles, keyBytesWritten, keyBytesDeleted, keyDestructive, keyFilesShim))

// blockedFiles reads a list of blocked paths, as those of `file_write.blocked_paths`.
func (c *checker) blockedFiles(entry *grammar.Entry) *List {
	list := &List{Span: entry.Span}
	seen := map[string]bool{}
	for _, item := range c.list(entry) {
		patterns, err := blockedPath(item.Text)
		if err != nil {
			c.add(grammar.At(CodeBlockedPath, item.Span, "%s", err))
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
