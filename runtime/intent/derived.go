package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/form"
	"bailiff/vm/form/command"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// Provenance says who is behind the API key of a request. No request can claim it (decisions, section 5).
type Provenance string

// The provenances of keys.
const (
	Agent Provenance = "agent"
	Shim  Provenance = "shim"
)

// derivations computes each derived value. A value that is missing here stops the program at its start.
var derivations = map[string]func(*Intent, Provenance) vm.Value{
	derived.Action:         derivedAction,
	derived.Provenance:     derivedProvenance,
	derived.Token:          derivedToken,
	derived.Amount:         derivedAmount,
	derived.Stray:          derivedStray,
	derived.TargetToken:    derivedTargetToken,
	derived.Method:         derivedMethod,
	derived.Runs:           derivedRuns,
	derived.Mismatch:       derivedMismatch,
	derived.CalldataAmount: derivedCalldataAmount,
	derived.Moved:          derivedMoved,
	derived.MovedAmount:    derivedMovedAmount,
	derived.Host:           derivedHost,
	derived.Hosts:          derivedHosts,
	derived.DecodedURL:     derivedDecodedURL,
	derived.DecodedPath:    derivedDecodedPath,
	derived.URLPath:        derivedURLPath,
	derived.Query:          derivedQuery,
	derived.Path:           derivedPath,
	derived.Files:          derivedFileReadings,
	derived.Command:        derivedCommand,
	derived.Calls:          derivedCalls,
	derived.Server:         derivedServer,
	derived.Tool:           derivedTool,
	derived.MCP:            derivedMCP,
	derived.Recipients:     derivedRecipients,
	derived.Text:           derivedText,
	derived.Caseless:       derivedCaseless,
	derived.Usage:          derivedUsage,
	derived.Spend:          derivedSpend,
	derived.Tokens:         derivedTokens,
	derived.Call:           derivedCall,
	derived.CallToken:      derivedCallToken,
	derived.CallSymbol:     derivedCallSymbol,
	derived.CallAmount:     derivedCallAmount,
	derived.Boundary:       derivedBoundary,
	derived.Effects:        derivedEffects,
	derived.Targets:        derivedTargets,
	derived.Written:        derivedWritten,
	derived.Read:           derivedRead,
	derived.WrittenBeyond:  derivedWrittenBeyond,
	derived.ReadBeyond:     derivedReadBeyond,
	derived.WrittenRoots:   derivedWrittenRoots,
	derived.Paths:          derivedPaths,
	derived.GitFolders:     derivedGitFolders,
	derived.Taken:          derivedTaken,
	derived.TakenTree:      derivedTakenTree,
	derived.TakenRoots:     derivedTakenRoots,
	derived.Classes:        derivedClasses,
	derived.FileCount:      derivedFiles,
	derived.BytesWritten:   derivedBytesWritten,
	derived.BytesDeleted:   derivedBytesDeleted,
	derived.Destructive:    derivedDestructive,
	derived.Operation:      derivedOperation,
	derived.Refs:           derivedRefs,
	derived.Forced:         derivedForced,
	derived.Branch:         derivedBranch,
	derived.Changes:        derivedChanges,
	derived.Worktree:       derivedWorktree,
	derived.WorktreeBeyond: derivedWorktreeBeyond,
	derived.Provider:       derivedProvider,
	derived.RemoteScheme:   derivedRemoteScheme,
	derived.Operations:     derivedOperations,
	derived.Statements:     derivedStatements,
	derived.Environment:    derivedEnvironment,
	derived.Resources:      derivedResources,
	derived.Capabilities:   derivedCapabilities,
	derived.SchemaChanges:  derivedSchemaChanges,
}

func init() {
	for _, row := range derived.Rows() {
		if derivations[row.Name] == nil {
			panic("intent: the derived value " + row.Name + " is never computed")
		}
	}
}

func text(s string) vm.Value { return vm.Value{Kind: vm.String, Text: s} }

// textIf returns s where it exists.
func textIf(exists bool, s string) vm.Value {
	if !exists {
		return vm.Value{}
	}
	return text(s)
}

func derivedAction(in *Intent, _ Provenance) vm.Value       { return text(in.action) }
func derivedProvenance(_ *Intent, from Provenance) vm.Value { return text(string(from)) }
func derivedHost(in *Intent, _ Provenance) vm.Value         { return textIf(in.Has(slot.URL), in.url.Host) }
func derivedURLPath(in *Intent, _ Provenance) vm.Value      { return textIf(in.Has(slot.URL), in.url.Path) }
func derivedServer(in *Intent, _ Provenance) vm.Value       { return textIf(in.server != "", in.server) }
func derivedTool(in *Intent, _ Provenance) vm.Value         { return textIf(in.tool != "", in.tool) }

// derivedQuery returns the query that rules read, whether it was repeated beside url or not.
func derivedQuery(in *Intent, _ Provenance) vm.Value {
	normal, _ := form.Escapes.Normal(in.url.Query)
	return textIf(in.Has(slot.URL), normal)
}

func derivedMCP(in *Intent, _ Provenance) vm.Value {
	return textIf(in.server != "", strings.TrimPrefix(in.action, slot.MCPPrefix))
}

func derivedToken(in *Intent, _ Provenance) vm.Value {
	return textIf(in.Has(slot.Token), in.lower(in.Text(slot.Token)))
}

func derivedCommand(in *Intent, _ Provenance) vm.Value {
	if !in.Has(slot.Command) {
		return vm.Value{}
	}
	forms, err := command.Read(in.Text(slot.Command))
	if err != nil {
		return unreadable
	}
	start := len(in.elements)
	for _, spelling := range forms.All() {
		in.elements = append(in.elements, text(spelling))
	}
	return in.listFrom(start)
}

func derivedCalls(in *Intent, _ Provenance) vm.Value {
	if !in.Has(slot.Command) {
		return vm.Value{}
	}
	calls, err := command.Listed(in.Text(slot.Command))
	if err != nil {
		return unreadable
	}
	start := len(in.elements)
	for _, call := range calls {
		in.elements = append(in.elements, text(call))
	}
	return in.listFrom(start)
}

// ShowCall returns a simple command of @calls for messages.
func ShowCall(call string) string { return command.ShowListed(call) }

// derivedAmount is what machines calculate with: the amount as it was sent, with its unit.
func derivedAmount(in *Intent, _ Provenance) vm.Value {
	return vm.Value{Kind: in.kind(slot.Amount), Text: in.Text(slot.Amount), BaseUnits: in.AmountInBaseUnits()}
}

// derivedUsage has no text: whether it is there is all that is asked.
func derivedUsage(in *Intent, _ Provenance) vm.Value {
	if !in.hasUsage {
		return vm.Value{}
	}
	return vm.Value{Kind: vm.Object}
}
