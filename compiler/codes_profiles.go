package compiler

import "bailiff/grammar"

// The codes of diagnostics about resource profiles.
const (
	CodeQuotedInProfile   grammar.Code = "E2400"
	CodeRoot              grammar.Code = "E2401"
	CodeName              grammar.Code = "E2402"
	CodeRef               grammar.Code = "E2403"
	CodeResource          grammar.Code = "E2404"
	CodeOutsideOfNothing  grammar.Code = "E2405"
	CodeApprovalDenied    grammar.Code = "E2407"
	CodeShimNotRequired   grammar.Code = "W2400"
	CodeGovernsNothing    grammar.Code = "W2401"
	CodeGovernsOtherKind  grammar.Code = "W2402"
	CodeNoWriteRoots      grammar.Code = "W2403"
	CodeProtectsNothing   grammar.Code = "W2404"
	CodeNeverApplies      grammar.Code = "W2405"
	CodeSameRef           grammar.Code = "W2407"
	CodeRootBelow         grammar.Code = "W2408"
	CodeTimeoutAlone      grammar.Code = "W2409"
	CodeFilesUnjudged     grammar.Code = "W2410"
	CodeRoutineStar       grammar.Code = "W2411"
	CodeAllowedAndBlocked grammar.Code = "W2412"
)

// profileErrors and profileWarnings are the rows of these codes in the table.
var (
	profileErrors = []grammar.CodeInfo{
		{Code: CodeQuotedInProfile, Title: "a quoted value in a resource profile",
			Explanation: "The values of the resource profiles are taken as they are, so that quotes would be part of a path or a name. Remove them.",
			Wrong:       repositoryPolicy("roots: \"/workspace/repository\""),
			Right:       repositoryPolicy("roots: /workspace/repository")},
		{Code: CodeRoot, Title: "a malformed root",
			Explanation: "A root is `.` for the roots that the shim reports, `/` for everything, or a whole path without `.`, `..` and empty segments and without a slash at its end: `/workspace/repository`.",
			Wrong:       repositoryPolicy("roots: /workspace/repository/"),
			Right:       repositoryPolicy("roots: /workspace/repository")},
		{Code: CodeName, Title: "a malformed name in a resource profile",
			Explanation: "A name has at most 256 bytes and no control characters, and `protected_class_catalog` is one name.",
			Wrong:       filesystemPolicy("allowed_effects: read\nprotected_file_classes: secret\nprotected_class_catalog: ours, theirs"),
			Right:       filesystemPolicy("allowed_effects: read\nprotected_file_classes: secret\nprotected_class_catalog: ours")},
		{Code: CodeRef, Title: "a malformed protected ref",
			Explanation: "A protected ref is exact, or the beginning of refs and one `*` at its end, which stands for any characters, slashes too. What `git check-ref-format` refuses, and `HEAD`, names no ref, so that the entry would protect nothing.",
			Wrong:       gitPolicy("protected_refs: release/*/stable"),
			Right:       gitPolicy("protected_refs: release/*")},
		{Code: CodeResource, Title: "a malformed resource pattern",
			Explanation: "A pattern has at most 16 stars and is more than stars: a bare `*` would allow every resource, as no list at all does.",
			Wrong:       databasePolicy("allowed_resources: *"),
			Right:       databasePolicy("allowed_resources: app.public.*")},
		{Code: CodeOutsideOfNothing, Title: "block_outside_writes without roots",
			Explanation: "Only `roots` say what is outside of the repository.",
			Wrong:       repositoryPolicy("block_outside_writes: true"),
			Right:       repositoryPolicy("roots: .\nblock_outside_writes: true")},
		{Code: CodeApprovalDenied, Title: "an approval of what is not allowed",
			Explanation: "`require_approval` is a part of `allowed_operations`: what is not allowed is denied, and no approval changes that.",
			Wrong:       databasePolicy("allowed_operations: select, insert\nrequire_approval: update"),
			Right:       databasePolicy("allowed_operations: select, insert, update\nrequire_approval: update")},
	}
	profileWarnings = []grammar.CodeInfo{
		{Code: CodeShimNotRequired, Title: "a resource profile without require_shim: true",
			Explanation: "The policy compiles and can be tried out, and deployment refuses it: a profile is only as good as the shim that reports what happens.",
			Wrong:       "version: 2.1.0\n## repository\nroots: .\nrequire_shim: false\n",
			Right:       repositoryPolicy("roots: .")},
		{Code: CodeGovernsNothing, Title: "a resource profile without actions",
			Explanation: "A profile governs, and grants, the actions that it names. Without any its rules apply to nothing.",
			Wrong:       "version: 2.1.0\n## git\nallowed_operations: status\nrequire_shim: true\n",
			Right:       gitPolicy("allowed_operations: status")},
		{Code: CodeGovernsOtherKind, Title: "a resource profile for what is no tool",
			Explanation: "The pattern covers an EVM or model action. The profile governs it, so that it needs a shim and the profile's metadata, and does not grant it. Name the tools that are meant.",
			Wrong:       "version: 2.1.0\n## database\nactions: contract.*\nrequire_shim: true\n",
			Right:       databasePolicy("")},
		{Code: CodeNoWriteRoots, Title: "no write_roots",
			Explanation: "Effects that write are allowed, and neither `write_roots` nor `repository.block_outside_writes` says where.",
			Wrong:       filesystemPolicy("allowed_effects: read, overwrite"),
			Right:       filesystemPolicy("allowed_effects: read, overwrite\nwrite_roots: .")},
		{Code: CodeProtectsNothing, Title: "protection without protected_file_classes",
			Explanation: "`protected_effects` and `protected_class_catalog` only say more about the classes that `protected_file_classes` lists.",
			Wrong:       filesystemPolicy("allowed_effects: read\nprotected_effects: read"),
			Right:       filesystemPolicy("allowed_effects: read\nprotected_file_classes: secret\nprotected_effects: read")},
		{Code: CodeNeverApplies, Title: "a rule that never applies",
			Explanation: "The rule is about something that the profile's list of allowed effects or operations does not have, so it never does anything.",
			Wrong:       filesystemPolicy("allowed_effects: read\nmax_bytes_deleted_per_task: 1000"),
			Right:       filesystemPolicy("allowed_effects: read")},
		{Code: CodeSameRef, Title: "a ref that is protected twice",
			Explanation: "A protected ref that does not begin with `refs/` also covers the branch and the tag of that name.",
			Wrong:       gitPolicy("protected_refs: main, refs/heads/main"),
			Right:       gitPolicy("protected_refs: main")},
		{Code: CodeRootBelow, Title: "a root below another",
			Explanation: "The other root covers it. One of the two was probably meant alone.",
			Wrong:       repositoryPolicy("roots: /workspace, /workspace/repository"),
			Right:       repositoryPolicy("roots: /workspace/repository")},
		{Code: CodeTimeoutAlone, Title: "a timeout without allowed_operations",
			Explanation: "Timeouts are set by the shim on its session and judge nothing: without `allowed_operations` every operation is allowed.",
			Wrong:       databasePolicy("statement_timeout_ms: 5000"),
			Right:       databasePolicy("statement_timeout_ms: 5000\nallowed_operations: select")},
		{Code: CodeFilesUnjudged, Title: "filesystem_actions without a profile that judges files",
			Explanation: "Git's rules do not look at files. For `filesystem_actions` those of `## filesystem` and `## repository` do, and neither is there.",
			Wrong:       gitPolicy("filesystem_actions: git.checkout"),
			Right:       gitPolicy("filesystem_actions: git.checkout") + "## repository\nroots: .\nrequire_shim: true\n"},
		{Code: CodeRoutineStar, Title: "a star in routine_catalog",
			Explanation: "The catalogue lists reviewed routines by their exact names; a `*` covers nothing but itself.",
			Wrong:       databasePolicy("routine_catalog: app.*"),
			Right:       databasePolicy("routine_catalog: app.refresh_totals")},
		{Code: CodeAllowedAndBlocked, Title: "an operation that is both allowed and blocked",
			Explanation: "`blocked_operations` wins: the operation is denied. Remove it from the list in which it is not meant.",
			Wrong:       gitPolicy("allowed_operations: status, commit, force_push\nblocked_operations: force_push"),
			Right:       gitPolicy("allowed_operations: status, commit")},
	}
)

// The small policies of the table.

func repositoryPolicy(lines string) string {
	return "version: 2.1.0\n## repository\n" + lines + "\nrequire_shim: true\n"
}

func filesystemPolicy(lines string) string {
	return "version: 2.1.0\n## filesystem\nactions: file.*\n" + lines + "\nrequire_shim: true\n"
}

func gitPolicy(lines string) string {
	return "version: 2.1.0\n## git\nactions: git.*\n" + lines + "\nrequire_shim: true\n"
}

func databasePolicy(lines string) string {
	return "version: 2.1.0\n## database\nactions: db.*\n" + lines + "\nrequire_shim: true\n"
}
