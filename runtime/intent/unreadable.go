package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/form/command"
	"bailiff/vm/form/email"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/resource"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// Unreadable says in a few words why the derived slot of that name is vm.Invalid in this request, or has an element
// that is: printable text of bounded length, worded to be after a colon ("it holds a variable"). It is "" where the
// slot is readable or absent, and for all other names. Only "@evm.call" depends on the key: where all is said, the answer
// is that an agent can't say it, so it is to be asked for requests in which the slot is invalid. The value is derived
// once more, so this is for denials only.
func (in *Intent) Unreadable(slotName string) string {
	explain, ok := explanations[slotName]
	if !ok {
		return ""
	}
	return printable(explain(in), maxMessage/2)
}

// explanations has a row for every slot that can be invalid.
var explanations = map[string]func(*Intent) string{
	derived.CalldataAmount: whyCalldataAmount,
	derived.Path:           whyPath,
	derived.Files:          whyFile,
	derived.Command:        whyCommand,
	derived.Calls:          whyCalls,
	derived.Recipients:     whyRecipients,
	derived.Call:           whyCall,
	derived.CallAmount:     whyCallAmount,
	derived.Effects:        whyEffects,
	derived.Targets:        whyTargets,
	derived.Written:        whyIf(derivedWritten, whyTargets),
	derived.Read:           whyIf(derivedRead, whyTargets),
	derived.WrittenBeyond:  whyIf(derivedWritten, whyTargets),
	derived.ReadBeyond:     whyIf(derivedRead, whyTargets),
	derived.Paths:          whyPaths,
	derived.Classes:        whyClasses,
	derived.BytesWritten:   whyIf(derivedBytesWritten, whyBytes),
	derived.BytesDeleted:   whyIf(derivedBytesDeleted, whyBytes),
	derived.Operation:      whyOperation,
	derived.Refs:           whyRefs,
	derived.Forced:         whyRefs,
	derived.Branch:         whyBranch,
	derived.GitFolders:     whyIf(derivedGitFolders, whyTargets),
	derived.Taken:          whyIf(derivedTaken, whyTargets),
	derived.TakenTree:      whyTakenTree,
	derived.TakenRoots:     whyIf(derivedTakenRoots, whyTargets),
	derived.Environment:    whyEnvironment,
	derived.Worktree:       whyWorktree,
	derived.WorktreeBeyond: whyWorktree,
	derived.Operations:     whyTexts(derivedOperations, "operations", "no database operation", resource.IsDatabaseOperation),
	derived.Statements:     whyStatements,
	derived.Resources:      whyTexts(derivedResources, "resources", "no text", anyText),
	derived.Capabilities:   whyTexts(derivedCapabilities, "credential_capabilities", "no text", anyText),
}

// whyIf returns an explanation that is given where value is invalid.
func whyIf(value func(*Intent, Provenance) vm.Value, explain func(*Intent) string) func(*Intent) string {
	return func(in *Intent) string {
		if value(in, Shim).Kind != vm.Invalid {
			return ""
		}
		return explain(in)
	}
}

func whyCalldataAmount(in *Intent) string {
	if derivedCalldataAmount(in, Shim).Kind != vm.Invalid {
		return ""
	}
	return "its arguments are cut off"
}

// whyPath explains the first path that can't be read.
func whyPath(in *Intent) string {
	for path := range in.eachPath() {
		if why := fspath.Explain(in.fromCwd(path)); why != "" {
			return why
		}
	}
	return ""
}

func whyCommand(in *Intent) string {
	if !in.Has(slot.Command) {
		return ""
	}
	if _, err := command.Read(in.Text(slot.Command)); err != nil {
		return err.Error()
	}
	return ""
}

func whyCalls(in *Intent) string {
	if !in.Has(slot.Command) {
		return ""
	}
	if _, err := command.Listed(in.Text(slot.Command)); err != nil {
		return err.Error()
	}
	return ""
}

func whyRecipients(in *Intent) string {
	for recipient := range in.Recipients() {
		if _, ok := email.Parse(recipient); !ok {
			return quote(recipient) + " is not one plain e-mail address"
		}
	}
	return ""
}

func whyCall(in *Intent) string {
	if _, problem := in.call(Shim); problem != "" {
		return problem
	}
	_, problem := in.call(Agent)
	return problem
}

func whyCallAmount(in *Intent) string {
	if derivedCallAmount(in, Shim).Kind != vm.Invalid {
		return ""
	}
	return "metadata.evm." + tokenAmount + " must be a string of digits below 2^256"
}

func whyEffects(in *Intent) string {
	object := in.evidence(fileEvidence)
	list := in.given(object, "effects")
	switch {
	case object == 0:
		return "metadata.filesystem must be an object"
	case !in.isList(list):
		return "metadata.filesystem.effects must be an array with one effect or more"
	}
	return in.whyElement(list, "no effect on files", resource.IsEffect)
}

// whyElement says which element of an array is no string that accept takes.
func (in *Intent) whyElement(list int32, problem string, accept func(string) bool) string {
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		switch n := &in.nodes[i]; {
		case n.kind != vm.String:
			return in.inMetadata(i) + " is not a text"
		case !accept(n.text):
			return in.inMetadata(i) + " is " + problem + ": " + quote(n.text)
		}
	}
	return ""
}

// inMetadata returns the path of a node, without the "intent." that all evidence has.
func (in *Intent) inMetadata(at int32) string {
	return strings.TrimPrefix(in.pathOf(at), prefix(slot.Inside))
}

func whyTargets(in *Intent) string {
	list := in.targetList()
	if !in.hasPaths(list) {
		return ""
	}
	if !in.isTrue(in.evidence(executionEvidence), raceSafe) {
		return "metadata.execution." + raceSafe + " is not true"
	}
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		if why := in.whyTarget(i); why != "" {
			return why
		}
	}
	return ""
}

// whyTarget says which path of a target can't be trusted.
func (in *Intent) whyTarget(target int32) string {
	path, _ := in.givenText(target, absolutePath)
	if why := resource.WhyNotCanonical(path); why != "" {
		return in.inMetadata(target) + "." + absolutePath + " " + why
	}
	parent, ok := in.givenText(target, resolvedParent)
	switch {
	case !ok:
		return in.inMetadata(target) + "." + resolvedParent + " is missing or not a text"
	case !resource.CanonicalRoot(parent):
		return in.inMetadata(target) + "." + resolvedParent + " " + resource.WhyNotCanonical(parent)
	}
	return ""
}

func whyPaths(in *Intent) string {
	list := in.targetList()
	if !in.hasPaths(list) {
		return ""
	}
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		if why := in.whyTarget(i); why != "" {
			return why
		}
		path, resolved, _ := in.paths(i)
		for _, one := range [...]string{path, resolved} {
			if why := fspath.Explain(one); why != "" {
				return in.inMetadata(i) + " can't be judged: " + why
			}
		}
	}
	return ""
}

func whyClasses(in *Intent) string {
	list := in.targetList()
	if list == 0 {
		return ""
	}
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		if class, _ := in.givenText(i, classification); class == "" {
			return in.inMetadata(i) + "." + classification + " is missing, empty or no text"
		}
	}
	return ""
}

func whyBytes(in *Intent) string {
	list := in.targetList()
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		if _, ok := in.wholeNumber(in.given(i, targetBytes)); !ok {
			return in.inMetadata(i) + "." + targetBytes + " must be an integer of zero or more"
		}
	}
	return ""
}

func whyOperation(in *Intent) string {
	if derivedOperation(in, Shim).Kind != vm.Invalid {
		return ""
	}
	operation, ok := in.givenText(in.evidence(gitEvidence), "operation")
	if !ok {
		return "metadata.git.operation is not a text"
	}
	return quote(operation) + " is not a git operation"
}

func whyRefs(in *Intent) string {
	list := in.refUpdates()
	switch {
	case list == 0:
		return ""
	case !in.isList(list):
		return "metadata.git.ref_updates must be an array with one update or more"
	}
	for i := list + 1; i < in.nodes[list].next; i = in.nodes[i].next {
		ref, ok := in.givenText(i, "ref")
		if !ok {
			return in.inMetadata(i) + ".ref is missing or not a text"
		}
		if why := resource.WhyNoRef(ref); why != "" {
			return in.inMetadata(i) + ".ref " + why
		}
	}
	return ""
}

func whyBranch(in *Intent) string {
	if derivedBranch(in, Shim).Kind != vm.Invalid {
		return ""
	}
	branch, ok := in.givenText(in.evidence(gitEvidence), "branch")
	if !ok {
		return "metadata.git.branch is not a text"
	}
	return "metadata.git.branch " + resource.WhyNoRef(branch)
}

func whyTakenTree(in *Intent) string {
	switch {
	case derivedTakenTree(in, Shim).Kind != vm.Invalid:
		return ""
	case derivedTaken(in, Shim).Kind == vm.Invalid:
		return whyTargets(in)
	}
	path, _ := in.givenText(in.evidence(gitEvidence), "worktree")
	return "metadata.git.worktree " + resource.WhyNotCanonical(path)
}

func whyEnvironment(in *Intent) string {
	if derivedEnvironment(in, Shim).Kind != vm.Invalid {
		return ""
	}
	return "metadata.database.environment has white space, or characters that can't be printed"
}

func whyWorktree(in *Intent) string {
	git := in.evidence(gitEvidence)
	if id, _ := in.givenText(git, "repository_id"); id == "" {
		return "metadata.git.repository_id is missing, empty or no text"
	}
	path, ok := in.givenText(git, "worktree")
	if !ok {
		return "metadata.git.worktree is missing or not a text"
	}
	if why := resource.WhyNotCanonical(path); why != "" {
		return "metadata.git.worktree " + why
	}
	return ""
}

// whyTexts explains a list of texts in metadata.database.
func whyTexts(value func(*Intent, Provenance) vm.Value, name, problem string, accept func(string) bool) func(*Intent) string {
	return whyIf(value, func(in *Intent) string {
		return in.whyElement(in.database(name), problem, accept)
	})
}

func whyStatements(in *Intent) string {
	if derivedStatements(in, Shim).Kind != vm.Invalid {
		return ""
	}
	return "metadata.database.statement_count must be a positive integer"
}
