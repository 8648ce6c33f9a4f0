package resource

// What a git operation does.
const (
	needsRefs traits = 1 << iota
	usesRemote
	rewritesHistory
	mustFastForward
	atProvider
	movesBranch
	needsBranch
	unprotects
)

// gitOperations is the one table of what can be done to a git repository.
var gitOperations = newVocabulary([]row{
	{"status", 0},
	{"diff", 0},
	{"log", 0},
	{"add", 0},
	{"commit", movesBranch},
	{"fetch", usesRemote},
	{pullFastForward, usesRemote | mustFastForward},
	{pushFastForward, needsRefs | usesRemote | mustFastForward},
	{"create_branch", needsRefs},
	{"create_tag", needsRefs},
	{"reset_hard", rewritesHistory | movesBranch | needsBranch},
	{"clean", 0},
	{"rewrite_history", needsRefs | rewritesHistory | movesBranch | needsBranch},
	{"delete_ref", needsRefs | rewritesHistory},
	{"force_push", needsRefs | usesRemote | rewritesHistory},
	{"mirror_push", needsRefs | usesRemote | rewritesHistory},
	{"prune_remote", usesRemote | rewritesHistory},
	{"change_remote", usesRemote},
	{"change_protection", atProvider | unprotects},
	{"change_credentials", atProvider},
	{"delete_repository", atProvider | unprotects},
})

// GitOperations returns what can be done to a git repository.
func GitOperations() []string { return gitOperations.names() }

// IsGitOperation reports whether text is a git operation.
func IsGitOperation(text string) bool { return gitOperations.has(text, known) }

// NeedsRefs reports whether an operation can't be judged without the refs that it updates.
func NeedsRefs(operation string) bool { return gitOperations.has(operation, needsRefs) }

// UsesRemote reports whether an operation talks to a remote or changes one, so that the remote's scheme counts.
func UsesRemote(operation string) bool { return gitOperations.has(operation, usesRemote) }

// RewritesHistory reports whether an operation can lose commits or refs (`repository.protect_git_history`).
func RewritesHistory(operation string) bool { return gitOperations.has(operation, rewritesHistory) }

// MustFastForward reports whether every update of an operation has to be a fast-forward, by its name.
func MustFastForward(operation string) bool { return gitOperations.has(operation, mustFastForward) }

// AtProvider reports whether an operation happens at the repository's host, not in the repository.
func AtProvider(operation string) bool { return gitOperations.has(operation, atProvider) }

// MovesBranch reports whether an operation updates the branch of the work tree, beside the refs that it names.
func MovesBranch(operation string) bool { return gitOperations.has(operation, movesBranch) }

// NeedsBranch reports whether an operation can't be held to protected refs without the branch of the work tree.
func NeedsBranch(operation string) bool { return gitOperations.has(operation, needsBranch) }

// Unprotects reports whether an operation takes all protection of refs away, whichever it names.
func Unprotects(operation string) bool { return gitOperations.has(operation, unprotects) }
