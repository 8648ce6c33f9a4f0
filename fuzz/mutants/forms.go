package mutants

// The files that say which texts are one value.
const (
	fileForm      = "vm/form/form.go"
	fileRule      = "vm/form/rule.go"
	fileSlot      = "vm/slot/slot.go"
	fileNormal    = "runtime/intent/forms.go"
	fileTokens    = "runtime/intent/tokens.go"
	fileDecode    = "runtime/intent/decode.go"
	fileCanonical = "runtime/intent/canonical.go"
	fileBind      = "runtime/intent/bind.go"
)

// Forms are faults of the forms of values, one or more for each form. That a value has one form is a law of its own
// (package laws), which has to find them.
var Forms = []Mutant{
	{"an address in another text keeps its case", fileForm,
		"\t\treturn normalPath(text)\n\t}\n\treturn evmaddr.FoldLiterals(text), true", "\t\treturn normalPath(text)\n\t}\n\treturn text, true"},
	{"a cap counts the names of a token apart", fileCap,
		"group := e.Field(slot.Canonical(path))", "by := map[string]string{frame.SlotToken: \"@token\"}[path]\n\tif by == \"\" {\n\t\tby = slot.Canonical(path)\n\t}\n\tgroup := e.Field(by)"},
	{"an amount in base units is compared digit by digit", fileTokens,
		"\tif !in.AmountInBaseUnits() {\n\t\treturn form.ShortDecimal(sent)", "\tif in.Has(slot.Amount) {\n\t\treturn form.ShortDecimal(sent)"},
	{"zeros at the end of an amount make another", fileForm,
		`text = strings.TrimRight(text, "0")`, `text = strings.TrimRight(text, "")`},
	{"an amount in normal form has a unit", fileNormal,
		"return text, !in.inHumanUnits()", "return text, true"},
	{"a recipient is compared as it is sent", fileForm,
		"return normalMailbox(text)", "return text, true"},
	{"a host is compared as it is sent", fileForm,
		"return normalHost(text)\n\tcase URL:", "return text, true\n\tcase URL:"},
	{"a URL is compared as it is sent", fileNormal,
		"return evmaddr.FoldLiterals(in.url.Normal()), true", "return text, true"},
	{"a query keeps escapes that it need not have", fileForm,
		"return evmaddr.FoldLiterals(httpurl.URL{Path: text}.NormalPath()), true", "return evmaddr.FoldLiterals(text), true"},
	{"a path keeps its backslashes", fileForm,
		"rest := strings.ReplaceAll(text, `\\`, \"/\")", "rest := text"},
	{"a path keeps its empty segments", fileForm,
		"\t\tcase \"\", \".\":\n\t\t\tcontinue", "\t\tcase \".\":\n\t\t\tcontinue"},
	{"arguments in metadata are others", fileDecode,
		"in.at[slot.Arguments], in.atTop[slot.Arguments] = inner, false", "in.atTop[slot.Arguments] = false"},
	{"the hash shows an amount as it was sent", fileCanonical,
		"if value, ok := in.amountBase(in.tokens); ok {", "if value, ok := in.amountBase(in.tokens); ok && !in.Has(slot.AmountUnit) {"},
	{"the hash shows texts as they were sent", fileCanonical,
		"\tif !ok {\n\t\tnormal = in.nodes[at].text", "\tif ok {\n\t\tnormal = in.nodes[at].text"},
	{"a part of an MCP action keeps its case in rules", fileSlot,
		"var mcpParts = Row{Type: Members, Other: form.Lower, When: ForMCP}", "var mcpParts = Row{Type: Members}"},
	{"a part of a value is sought in its own case", fileRule,
		"\tcase f.Caseless():\n\t\treturn f.Fold(text)\n\t}\n\tswitch f {", "\tcase f.Caseless():\n\t\treturn text\n\t}\n\tswitch f {"},
	{"an address in a pattern keeps its case", fileRule,
		"\t\treturn \"(?i)\" + text\n\t}\n\treturn evmaddr.FoldLiterals(text)", "\t\treturn \"(?i)\" + text\n\t}\n\treturn text"},
	{"lists of objects are not walked", fileBind,
		"return resolvePath(path, false, true)", "return resolvePath(path, false, false)"},
}

// readings are faults of how rules read values, which the oracle reads on its own.
var readings = []Mutant{
	{"denials read normal forms alone", "compiler/sections/denial.go",
		"\tif respelled {\n\t\tslots = append", "\tif respelled && path == \"\" {\n\t\tslots = append"},
	{"an address is pinned on every chain", fileTokens,
		"if pin.chain == \"\" || pin.chain == chain {", "if pin.chain == \"\" || chain != \"\" {"},
}

// money are faults of what format 2.4 says of fees, of calls that run others, and of the methods of tokens.
var money = []Mutant{
	{"the largest fee is one wei too much", fileEVM,
		"e.Compare(vm.OpGreater, vm.Unless, 1, e.Amount(most.Amount, frame.NativeDecimals, keyMaxFee.Unit), done)", "e.Compare(vm.OpAtLeast, vm.Unless, 1, e.Amount(most.Amount, frame.NativeDecimals, keyMaxFee.Unit), done)"},
	{"a fee that is not declared passes", fileEVM,
		"e.DenyBy(keyMaxFee.Rule, errcode.AmountRequired, \"the policy limits fees, and maxFee is missing; declare the most that gas may cost\", e.Value(frame.SlotMaxFee), done)", "e.Jump(done)"},
	{"fees are judged in any unit", fileEVM,
		"slot, done, valid := e.Field(frame.SlotMaxFee)", "slot, done, valid := e.Field(derived.Amount)"},
	{"calls may run other calls", fileCallData,
		"\taccountCalls(e)\n", ""},
	{"a token intent may have any call data", fileCallData,
		"\tmatches(e)\n", ""},
	{"call data for another recipient passes", fileToken,
		"e.DenyBy(keyActions.Rule, keyActions.Code, \"the calldata is for another recipient or spender than to declares\", e.Value(frame.SlotTo), done)", "e.Jump(done)"},
	{"call data with more than the declared amount passes", fileToken,
		"mismatchedAmount(e, nil, keyTokenMaximum.Code, \"the calldata moves or approves more than the declared amount\", done)", "e.Jump(done)"},
	{"any method of a pinned token may be called", fileCallData,
		"e.DenyBy(rule, keyTokenMethods.Code, \"the method is none whose amount the token's rule can judge, and \"+rule+\" does not name it\", e.Value(derived.Method), done)", "_ = rule\n\t\te.Jump(done)"},
	{"calls that are not contract.call need no enrichment", fileCallData,
		"\te.Kind(vm.Unless, e.Field(frame.SlotCalldata), frame.Absent, bound)\n", ""},
	{"fees of a day are counted by the hour", fileLimits,
		"c := frame.CounterOf(keyDailyFee, vm.Day,", "c := frame.CounterOf(keyDailyFee, vm.Hour,"},
	{"usage that was seen counts for model intents too", fileLimits,
		"e.Kind(vm.Unless, c.Amount, frame.Absent, known)\n\te.DenyBy(key.Rule, errcode.ModelUsage, unknown, e.Value(field), next)", "e.Jump(known)"},
}
