package mutants

import "slices"

// All are the mutants that the differential test has to find, by the files that they change.
var All = slices.Concat(evm, order, custom, tools, mcp, limits, controls, files, git, database, readings, money, places)

const (
	fileEmit       = "compiler/emit.go"
	fileEVM        = "compiler/sections/evm.go"
	fileToken      = "compiler/sections/token.go"
	fileCallData   = "compiler/sections/calldata.go"
	fileCustom     = "compiler/sections/custom.go"
	fileDenial     = "compiler/sections/denial.go"
	fileAllowance  = "compiler/sections/allowance.go"
	fileTools      = "compiler/sections/tools.go"
	fileWeb        = "compiler/sections/web.go"
	fileEmail      = "compiler/sections/email.go"
	fileMCP        = "compiler/sections/mcp.go"
	fileLimits     = "compiler/sections/limits.go"
	fileCap        = "compiler/sections/cap.go"
	fileControls   = "compiler/frame/controls.go"
	fileRepository = "compiler/profiles/repository.go"
	fileFilesystem = "compiler/profiles/filesystem.go"
	fileGit        = "compiler/profiles/git.go"
	fileDatabase   = "compiler/profiles/database.go"
	fileProfiles   = "compiler/profiles/profile.go"
)

var evm = []Mutant{
	{"the native maximum denies what equals it", fileEVM,
		"e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(limit", "e.Compare(vm.OpAtLeast, vm.Unless, 0, e.Amount(limit"},
	{"a token's maximum denies what equals it", fileToken,
		"e.Compare(vm.OpGreater, vm.Unless, register", "e.Compare(vm.OpAtLeast, vm.Unless, register"},
	{"the native threshold holds only what is above it", fileEVM,
		"e.Compare(vm.OpAtLeast, vm.Unless, 0, e.Amount(p.Consensus", "e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(p.Consensus"},
	{"a token's threshold holds only what is above it", fileToken,
		"e.Compare(vm.OpAtLeast, vm.Unless, register", "e.Compare(vm.OpGreater, vm.Unless, register"},
	{"token amounts are read with one decimal too many", fileToken,
		"decimals := uint8(token.Decimals.N)", "decimals := uint8(token.Decimals.N) + 1"},
	{"native consensus is dropped", fileEVM, "\tconsensus(e, done)\n", ""},
	{"a token with addresses may have any target", fileToken,
		"e.Test(vm.OpIn, vm.If, e.Field(derived.TargetToken), e.Exactly(strings.ToLower(token.Symbol)), judge)", "e.Test(vm.OpStarts, vm.Unless, e.Field(frame.SlotTarget), e.Exactly(\"0x00\"), judge)"},
	{"a token without addresses may have the target of another", fileToken,
		"e.Kind(vm.If, e.Field(derived.TargetToken), frame.Absent, judge)", "e.Kind(vm.Unless, e.Field(frame.SlotToken), frame.Absent, judge)"},
	{"an amount is required from 2.0 on", fileEVM, "e.Version.AtLeast(2, 1)", "e.Version.AtLeast(2, 0)"},
	{"declared call data is not judged", fileEVM, "\temitCallData(e)\n", ""},
	{"an unbounded approval may be one short", fileCallData, "457584007913129639935\"", "457584007913129639934\""},
}

var order = []Mutant{
	{"allow_only is judged before the section", fileEmit,
		"\tsteps = append(steps, frame.Step{Of: func(class vm.Class) { emitSection(e, class) }, Skips: func(class vm.Class) bool { return skipsSection(e, class) }})\n\tif len(sections.AllowancesOf(e)) > 0 {\n\t\tsteps = append(steps, frame.Step{Shared: func() { sections.EmitAllowances(e) }})\n\t}\n",
		"\tif len(sections.AllowancesOf(e)) > 0 {\n\t\tsteps = append(steps, frame.Step{Shared: func() { sections.EmitAllowances(e) }})\n\t}\n\tsteps = append(steps, frame.Step{Of: func(class vm.Class) { emitSection(e, class) }, Skips: func(class vm.Class) bool { return skipsSection(e, class) }})\n"},
	{"tools may have call data", fileEmit, "frame.SlotAmountUnit, frame.SlotCalldata, frame.SlotMaxFee}", "frame.SlotAmountUnit, frame.SlotMaxFee}"},
	{"tools may declare a fee", fileEmit, "frame.SlotCalldata, frame.SlotMaxFee}", "frame.SlotCalldata}"},
	{"a tool intent may name any chain", fileEmit, "\tcase vm.Tool:\n\t\tsections.EmitChainIfPresent(e)\n", "\tcase vm.Tool:\n"},
	{"`## mcp` alone does not deny tools", "compiler/policy.go", "p.ToolCalls == nil && p.MCP == nil &&", "p.ToolCalls == nil &&"},
}

var custom = []Mutant{
	{"one listed element of an array is enough for allow_only", fileAllowance, "e.Test(op, vm.If|vm.Every,", "e.Test(op, vm.If,"},
	{"not_equals is content with one equal element", "compiler/sections/denial.go", "e.Test(vm.OpIn, vm.If|vm.Every, normal,", "e.Test(vm.OpIn, vm.If, normal,"},
	{"the scope of allow_only is forgotten", fileAllowance, "\temitScope(e, rule.Scope, next)\n", ""},
	{"the scope of allow_only has a case", fileAllowance, `strings.CutSuffix(strings.ToLower(pattern), "*")`, `strings.CutSuffix(pattern, "*")`},
	{"attested counts from everybody", fileAllowance, "if rule.Attested {", "if rule.Attested && rule.Path == \"\" {"},
	{"a pattern of allow_only need not match the whole value", fileAllowance,
		"e.Pattern(frame.MachinePattern(texts, as), true)", "e.Pattern(frame.MachinePattern(texts, as), false)"},
	{"a pattern about what has no case knows one", "vm/form/rule.go", `return "(?i)" + text`, "return text"},
	{"starts_with and ends_with are swapped", "compiler/frame/operator.go",
		"StartsWith: vm.OpStarts, EndsWith: vm.OpEnds", "StartsWith: vm.OpEnds, EndsWith: vm.OpStarts"},
	{"the first denial is dropped", fileDenial,
		"\tfor i := range DenialsOf(e) {\n\t\td := &DenialsOf(e)[i]\n", "\tfor i := range DenialsOf(e) {\n\t\td := &DenialsOf(e)[i]\n\t\tif i == 0 && len(DenialsOf(e)) > 1 && !d.IsString() {\n\t\t\tcontinue\n\t\t}\n"},
}

var tools = []Mutant{
	{"commands are only looked at as they were sent", fileTools, "key: KeyCommands, slot: derived.Command,", "key: KeyCommands, slot: \"command\","},
	{"a blocked domain does not cover its subdomains", fileWeb,
		"[]frame.SetTest{{Op: vm.OpHost, Set: e.Hosts(texts...)}}", "[]frame.SetTest{{Op: vm.OpIn, Set: e.Exactly(texts...)}}"},
	{"a missing subject passes its list", fileTools,
		"\te.Kind(vm.Unless, slot, frame.Absent, present)\n\te.DenyBy(list.key.Rule, list.key.Code, list.missing, value, done)\n", "\te.Kind(vm.If, slot, frame.Absent, done)\n\te.Jump(present)\n"},
	{"a profile grants no tool", fileTools, "\t\tprofiles.EmitGrants(e, granted)\n", ""},
	{"blocked methods are dropped", fileWeb, "if h.BlockedMethods != nil {", "if h.BlockedMethods != nil && h.AllowedMethods != nil {"},
	{"a method rule need not match the whole query", fileWeb, "e.Pattern(pattern, true), next)", "e.Pattern(pattern, false), next)"},
	{"a wildcard host covers its own domain", fileWeb, `strings.CutPrefix(host, "*")`, `strings.CutPrefix(host, "*.")`},
	{"one allowed recipient is enough", fileEmail, "e.Test(vm.OpGlob, vm.If|vm.Every, recipients,", "e.Test(vm.OpGlob, vm.If, recipients,"},
}

var mcp = []Mutant{
	{"a pattern with a dot is held against the tool alone", fileMCP,
		"e.Field(derived.MCP), e.Globs(match.Dotted, dotted...)", "e.Field(derived.Tool), e.Globs(match.Dotted, dotted...)"},
	{"blocked tools are never looked for without their server", fileMCP,
		"e.Test(vm.OpGlob, vm.Unless, e.Field(derived.Tool), set, outside)", "e.Test(vm.OpGlob, vm.Unless, e.Field(derived.MCP), set, outside)"},
	{"a star of blocked_tools stops at dots", fileMCP, "set := e.Globs(match.Unbounded, patterns", "set := e.Globs(match.Dotted, patterns"},
}

var limits = []Mutant{
	{"a limit by task lets pass what names no task", "compiler/frame/counters.go", "e.DenyBy(rule, errcode.TaskIDRequired, message, e.Value(SlotTaskID), next)", "e.Jump(next)"},
	{"calls of an hour are counted by the day", fileLimits, "frame.CounterOf(keyPerHour, vm.Hour,", "frame.CounterOf(keyPerHour, vm.Day,"},
	{"amounts of tokens count as native ones", fileLimits, "\te.Kind(vm.Unless, e.Field(derived.Token), frame.Absent, next)\n\tif", "\tif"},
	{"soft limits are enforced under 1.x", fileLimits, "if !e.Version.AtLeast(2, 0) {\n\t\treturn nil // version", "if false {\n\t\treturn nil // version"},
	{"caps do not count by group", fileCap, "if one.Group != nil {\n\t\tbyGroup", "if one.Group != nil && c.Window == vm.Task {\n\t\tbyGroup"},
	{"what a task used is added up", fileLimits, "c.Op, c.Amount = vm.Max, e.Field(field)", "c.Op, c.Amount = vm.Sum, e.Field(field)"},
	{"a task that reports no usage passes", fileLimits, "e.DenyBy(key.Rule, errcode.ModelUsage, unknown, e.Value(derived.Usage), next)", "e.Jump(next)"},
}

var controls = []Mutant{
	{"require_shim asks for an agent", "compiler/gates.go", `e.Exactly("shim")`, `e.Exactly("agent")`},
	{"approvals of mcp are forgotten", "compiler/gates.go", "steps = append(steps, c.step(func() { sections.EmitMCPApproval(e) }))", ""},
	{"email.require_approval holds every tool", fileEmail,
		"e.Test(vm.OpIn, vm.Unless, e.Field(derived.Action), e.Exactly(slot.EmailAction), next)", "e.Test(vm.OpStarts, vm.Unless, e.Field(derived.Action), e.Exactly(slot.EmailAction[:1], \"d\", \"f\"), next)"},
}

var files = []Mutant{
	{"roots cover what only begins like them", "compiler/profiles/profile.go", `strings.TrimSuffix(root, "/") + "/" }`, `strings.TrimSuffix(root, "/") }`},
	{"a directory that holds a root may go", fileRepository, "e.Field(SlotWritten), e.Exactly(holders(whole)...)", "e.Field(SlotWritten), e.Exactly(whole...)"},
	{"one allowed effect is enough", fileFilesystem,
		"e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotEffects)", "e.Test(vm.OpIn, vm.If, e.Field(slotEffects)"},
	{"reads are judged as if they were writes", fileFilesystem, "emitInside(e, keyReadRoots, f.ReadRoots, slotRead,", "emitInside(e, keyReadRoots, f.ReadRoots, SlotWritten,"},
	{"so many files are one too many", fileFilesystem, "e.Compare(vm.OpGreater, vm.Unless, 0, e.Amount(amount", "e.Compare(vm.OpAtLeast, vm.Unless, 0, e.Amount(amount"},
	{".git is protected in lower case alone", "vm/form/fspath/git.go", "name := trimName(fold(segment))", "name := trimName(segment)"},
	{"a limit of effects is not by task", fileProfiles, "Window:    vm.Task,", "Window:    vm.Day,"},
}

var git = []Mutant{
	{"remote schemes are not looked at", fileGit, "if g.RemoteSchemes != nil {", "if g.RemoteSchemes != nil && g.Providers != nil {"},
	{"a fast-forward is what is called so", fileGit, "\tfastForward(e)\n", ""},
	{"a short ref covers no branch", fileGit, `if !strings.HasPrefix(ref, refNamespace) {`, `if strings.HasPrefix(ref, refNamespace) {`},
	{"a short ref of an update is no branch", fileGit, "\tfor _, space := range ShortNames {\n\t\trest", "\tfor _, space := range ShortNames[:0] {\n\t\trest"},
}

var database = []Mutant{
	{"one select makes a statement harmless", fileDatabase,
		"e.Test(vm.OpIn, vm.If|vm.Every, e.Field(slotDBOperations), e.Exactly(resource.Select), next)", "e.Test(vm.OpIn, vm.If, e.Field(slotDBOperations), e.Exactly(resource.Select), next)"},
	{"any credential may select", fileDatabase, "if frame.IsOn(d.ReadOnlyForSelect) {", "if frame.IsOn(d.ReadOnlyForSelect) && d.Routines != nil {"},
	{"one listed resource is enough", fileDatabase,
		"vm.OpGlob, vm.If|vm.Every, SlotDBResources", "vm.OpGlob, vm.If, SlotDBResources"},
}
