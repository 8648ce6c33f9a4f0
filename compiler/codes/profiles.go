package codes

import (
	"bailiff/compiler/example"
	"bailiff/grammar"
)

// The codes of resource profiles.
var (
	QuotedInProfile = define("E2400", grammar.CodeInfo{Title: "a quoted value in a resource profile", Fix: grammar.FixGuess,
		Explanation: "The values of the resource profiles are taken as they are, so that quotes would be part of a path or a name. Remove them.",
		Wrong:       example.Repository("roots: \"/workspace/repository\""),
		Right:       example.Repository("roots: /workspace/repository")})

	Root = define("E2401", grammar.CodeInfo{Title: "a malformed root", Fix: grammar.FixGuess,
		Explanation: "A root is `.` for the roots that the shim reports, `/` for everything, or a whole path without `.`, `..` and empty segments and without a slash at its end: `/workspace/repository`.",
		Wrong:       example.Repository("roots: /workspace/repository/"),
		Right:       example.Repository("roots: /workspace/repository")})

	Name = define("E2402", grammar.CodeInfo{Title: "a malformed name in a resource profile",
		Explanation: "A name has at most 256 bytes and no control characters, and `protected_class_catalog` is one name.",
		Wrong:       example.Filesystem("allowed_effects: read\nprotected_file_classes: secret\nprotected_class_catalog: ours, theirs"),
		Right:       example.Filesystem("allowed_effects: read\nprotected_file_classes: secret\nprotected_class_catalog: ours")})

	Ref = define("E2403", grammar.CodeInfo{Title: "a malformed protected ref",
		Explanation: "A protected ref is exact, or the beginning of refs and one `*` at its end, which matches any characters, slashes too. `HEAD`, and a name that `git check-ref-format` refuses, are not refs, so the entry would protect nothing.",
		Wrong:       example.Git("protected_refs: release/*/stable"),
		Right:       example.Git("protected_refs: release/*")})

	Resource = define("E2404", grammar.CodeInfo{Title: "a malformed resource pattern",
		Explanation: "A pattern has at most 16 stars and is more than stars: a bare `*` would allow every resource, as leaving out the list does.",
		Wrong:       example.Database("allowed_resources: *"),
		Right:       example.Database("allowed_resources: app.public.*")})

	OutsideOfNothing = define("E2405", grammar.CodeInfo{Title: "block_outside_writes without roots",
		Explanation: "Without `roots`, the policy does not say which files are outside of the repository.",
		Wrong:       example.Repository("block_outside_writes: true"),
		Right:       example.Repository("roots: .\nblock_outside_writes: true")})

	ApprovalDenied = define("E2407", grammar.CodeInfo{Title: "an approval of an operation that is not allowed",
		Explanation: "Every operation in `require_approval` must also be in `allowed_operations`: other operations are denied, and an approval does not change that.",
		Wrong:       example.Database("allowed_operations: select, insert\nrequire_approval: update"),
		Right:       example.Database("allowed_operations: select, insert, update\nrequire_approval: update")})

	ShimNotRequired = define("W2400", grammar.CodeInfo{Title: "a resource profile without require_shim: true", Fix: grammar.FixGuess,
		Explanation: "The policy compiles and can be tried out, but deployment refuses it: a profile is only as good as the shim that reports what happens.",
		Wrong:       "version: 2.1.0\n## repository\nroots: .\nrequire_shim: false\n",
		Right:       example.Repository("roots: .")})

	GovernsNothing = define("W2401", grammar.CodeInfo{Title: "a resource profile without actions",
		Explanation: "A profile governs, and grants, the actions that it names. Without any its rules apply to nothing.",
		Wrong:       "version: 2.1.0\n## git\nallowed_operations: status\nrequire_shim: true\n",
		Right:       example.Git("allowed_operations: status")})

	GovernsOtherKind = define("W2402", grammar.CodeInfo{Title: "a resource profile for an action that is not a tool",
		Explanation: "The pattern covers an EVM or model action. The profile governs it, so that it needs a shim and the profile's metadata, and does not grant it. Name the tools that are meant.",
		Wrong:       "version: 2.1.0\n## database\nactions: contract.*\nrequire_shim: true\n",
		Right:       example.Database("")})

	NoWriteRoots = define("W2403", grammar.CodeInfo{Title: "no write_roots",
		Explanation: "Effects that write are allowed, and neither `write_roots` nor `repository.block_outside_writes` says where.",
		Wrong:       example.Filesystem("allowed_effects: read, overwrite"),
		Right:       example.Filesystem("allowed_effects: read, overwrite\nwrite_roots: .")})

	ProtectsNothing = define("W2404", grammar.CodeInfo{Title: "protection without protected_file_classes",
		Explanation: "`protected_effects` and `protected_class_catalog` only say more about the classes that `protected_file_classes` lists.",
		Wrong:       example.Filesystem("allowed_effects: read\nprotected_effects: read"),
		Right:       example.Filesystem("allowed_effects: read\nprotected_file_classes: secret\nprotected_effects: read")})

	NeverApplies = define("W2405", grammar.CodeInfo{Title: "a rule that never applies",
		Explanation: "The rule is about something that the profile's list of allowed effects or operations does not have, so it never does anything.",
		Wrong:       example.Filesystem("allowed_effects: read\nmax_bytes_deleted_per_task: 1000"),
		Right:       example.Filesystem("allowed_effects: read")})

	SameRef = define("W2407", grammar.CodeInfo{Title: "a ref that is protected twice",
		Explanation: "A protected ref that does not begin with `refs/` also covers the branch and the tag of that name.",
		Wrong:       example.Git("protected_refs: main, refs/heads/main"),
		Right:       example.Git("protected_refs: main")})

	RootBelow = define("W2408", grammar.CodeInfo{Title: "a root below another",
		Explanation: "The other root covers it. One of the two was probably meant alone.",
		Wrong:       example.Repository("roots: /workspace, /workspace/repository"),
		Right:       example.Repository("roots: /workspace/repository")})

	TimeoutAlone = define("W2409", grammar.CodeInfo{Title: "a timeout without allowed_operations",
		Explanation: "Timeouts are set by the shim on its session and judge nothing: without `allowed_operations` every operation is allowed.",
		Wrong:       example.Database("statement_timeout_ms: 5000"),
		Right:       example.Database("statement_timeout_ms: 5000\nallowed_operations: select")})

	FilesUnjudged = define("W2410", grammar.CodeInfo{Title: "filesystem_actions without a profile that judges files",
		Explanation: "Git's rules do not look at files. For `filesystem_actions` those of `## filesystem` and `## repository` do, and neither is there.",
		Wrong:       example.Git("filesystem_actions: git.checkout"),
		Right:       example.Git("filesystem_actions: git.checkout") + "## repository\nroots: .\nrequire_shim: true\n"})

	RoutineStar = define("W2411", grammar.CodeInfo{Title: "a star in routine_catalog",
		Explanation: "The catalogue lists reviewed routines by their exact names; a `*` covers nothing but itself.",
		Wrong:       example.Database("routine_catalog: app.*"),
		Right:       example.Database("routine_catalog: app.refresh_totals")})

	AllowedAndBlocked = define("W2412", grammar.CodeInfo{Title: "an operation that is both allowed and blocked",
		Explanation: "`blocked_operations` wins: the operation is denied. Remove it from the list in which it is not meant.",
		Wrong:       example.Git("allowed_operations: status, commit, force_push\nblocked_operations: force_push"),
		Right:       example.Git("allowed_operations: status, commit")})
)
