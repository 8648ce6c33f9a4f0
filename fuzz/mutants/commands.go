package mutants

// The files that read paths and commands.
const (
	filePath     = "vm/match/path.go"
	fileClean    = "vm/form/fspath/clean.go"
	filePaths    = "runtime/intent/paths.go"
	fileListed   = "vm/form/command/listed.go"
	fileExact    = "vm/form/fspath/exact.go"
	fileCommand  = "vm/form/command/command.go"
	fileEvaluate = "vm/form/command/evaluate.go"
	fileInput    = "vm/form/command/input.go"
	fileDocument = "vm/form/command/document.go"
	fileWalk     = "vm/form/command/walk.go"
	fileFlow     = "vm/form/command/flow.go"
	fileRunner   = "vm/form/command/runner.go"
)

// places are faults of how stars, directories and the forms of a command are read. The oracle reads these on its own.
var places = []Mutant{
	{"a star of a blocked path crosses slashes", filePath,
		"if want != have && !coversSegment(want, have) {", "if want != have && !coversSegment(want, path) {"},
	{"a star at the end of a name stands for nothing", filePath,
		"case !strings.HasPrefix(segment, part):\n\t\treturn false", "case segment != part:\n\t\treturn false"},
	{"a star of require_approval in mcp stops at dots", fileMCP, "\teitherWay(e, frame.Part[MCP](e.Parts).Approval, covered, next)\n",
		"\tset, held := e.Globs(match.Dotted, frame.Part[MCP](e.Parts).Approval.Texts()...), e.NewLabel()\n" +
			"\te.Test(vm.OpGlob, vm.If, e.Field(derived.MCP), set, held)\n\te.Test(vm.OpGlob, vm.Unless, e.Field(derived.Tool), set, next)\n\te.Place(held)\n"},
	{"a relative path is judged without cwd", filePaths, "return fspath.Join(in.Text(slot.Cwd), path)", "return path"},
	{"an assignment may stand before an allowed command", fileListed, "*syntax.TestDecl, *syntax.Assign:", "*syntax.TestDecl:"},
	{"a runner is allowed by its name", fileListed, "return IsRunner(name) || evaluates", "return evaluates"},
	{"an allowed command may write to files", fileListed, "return text == \"/dev/null\"", "return text != \"\""},
	{"one of several commands has to be allowed", fileTools, "vm.If|vm.Every, e.Field(derived.Calls)", "vm.If, e.Field(derived.Calls)"},
	{"an allowed path may go up", fileExact, "\t\tcase \"..\":\n\t\t\treturn \"\", false\n", "\t\tcase \"..\":\n\t\t\tcontinue\n"},
	{"a backslash divides names without a drive", fileExact, "&& !drive {", "&& drive && !drive {"},
	{"one of several paths has to be allowed", fileTools, "vm.If|vm.Every, e.Field(derived.Files)", "vm.If, e.Field(derived.Files)"},
	{"one exempt recipient frees an e-mail from approval", fileEmail, "vm.If|vm.Every, e.Field(derived.Recipients)", "vm.If, e.Field(derived.Recipients)"},
	{"a command that cannot be read needs no approval", fileTools,
		"e.Test(vm.OpContains, vm.Unless, e.Field(derived.Command), e.Exactly(held.Texts()...), next)",
		"e.Test(vm.OpContains, vm.If, e.Field(derived.Command), e.Exactly(held.Texts()...), hold)\n\te.Jump(next)"},
	{"of several paths the first is judged", filePaths, "if in.items(list) == 1 {", "if in.items(list) > 0 {"},
	{"several paths may stand beside one", filePaths, "case in.Has(slot.Path):", "case false:"},
	{"cwd stands in front of a home directory", fileClean, "first == \"\" || first[0] == '~' || ", "first == \"\" || "},
	{"cwd stands in front of a home directory behind dot segments", fileClean,
		"\tclean, _ := Clean(raw)\n\tfirst", "\tclean := fold(strings.ReplaceAll(raw, `\\`, \"/\"))\n\tfirst"},
	{"white space around operators makes another command", fileCommand, "f.Tight = tight(f.Unquoted)", "f.Tight = f.Unquoted"},
	{"a command is only sought with its quotes", fileCommand, "f.Unquoted = Collapse(stripQuotes(raw, true))", "f.Unquoted = Collapse(raw)"},
}

// Commands are faults of what is read as a command of its own. The oracle shares the parser of commands, and leaves to bash
// what the documents alone do not settle, so that running them in bash has to find each (package bash).
var Commands = []Mutant{
	{"here-strings of shells are not read", fileInput, "\t\t\tread(w.text(redir.Word.Parts, false))\n", ""},
	{"here-documents of shells are not read", fileDocument, "\tread(b.String())\n", ""},
	{"here-documents lose backslashes before double quotes", fileDocument, "unescapeOnly(lit.Value, documentEscapes)", "unescape(lit.Value, true)"},
	{"only whole lines end here-documents", fileDocument, "strings.HasPrefix(line, delimiter)", "line == delimiter"},
	{"backslashes join no lines of here-documents", fileDocument, "slashes%2 == 1", "slashes%2 == 2"},
	{"here-documents are in backquotes", fileDocument, "(backquotes || right", "(right"},
	{"delimiters have any quotes", fileDocument, `name != "" && `, `name != "" || `},
	{"commands take nothing of the script", fileInput, "r.takes && rest", "false && rest"},
	{"exec gives a shell no other input", fileRunner, "name == \"exec\" && w.fed", "false"},
	{"line ends in backquotes stay", fileWalk, "range backquoteEscapes {", "range backquoteEscapes[:2] {"},
	{"the text of trap is not read", fileEvaluate, "\t\tw.evaluated(texts[0])\n", ""},
	{"the text of eval is not read", fileEvaluate, "w.evaluated(strings.Join(texts, \" \"))", "_ = strings.Join(texts, \" \")"},
	{"PS4 is a variable as any", fileFlow, "{\"PS4\": false, ", "{"},
	{"timeout runs nothing", fileRunner, "\t\"timeout\": {operands: 1, values: \"ks\", long: []string{\"kill-after\", \"signal\"}},\n", ""},
	{"nohup runs nothing", fileRunner, "\t\"nohup\":    {},\n", ""},
}
