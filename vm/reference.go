package vm

import (
	"fmt"
	"strings"
)

// What the reference says of operands and outcomes.
var (
	operandAWords = [...]string{
		noA: "", aSense: "if, unless", aQuantified: "if, unless; any, all", aClass: "class",
		aRegister: "register", aRegisterCmp: "if, unless; register",
		aBlame: "value, element",
	}
	operandBWords = [...]string{noB: "", bSlot: "slot", bBlame: "slot to blame"}
	operandCWords = [...]string{
		noC: "", cRule: "rule", cCounter: "counter", cTable: "table", cKinds: "kinds", cDecimals: "decimals", cHit: "entry",
		cTexts: "texts", cHosts: "hosts", cPaths: "paths", cPattern: "pattern", cAmount: "amount", cGlobs: "globs",
	}
	operandDWords = [...]string{noD: "", dTarget: "target"}
	outcomeWords  = [...]string{
		noOutcome: "", isFalse: "false", isMasked: "by the mask", isDefault: "D",
		isNext: "next instruction", isNothing: "nothing found: D", isZero: "zero", isViolated: "violation",
	}
)

// reference returns the table of operations as a Markdown document.
func reference() string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "# Operations of the machine, version %d\n\n", MachineVersion)
	b.WriteString("| number | name | A | B | C | D | cost | missing, null | invalid | object | empty list |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|\n")
	for op := Op(1); op < opCount; op++ {
		row := &specs[op]
		fmt.Fprintf(b, "| %d | `%s` | %s | %s | %s | %s | %d | %s | %s | %s | %s |\n", op, row.name,
			operandAWords[row.a], operandBWords[row.b], operandCWords[row.c], operandDWords[row.d], row.fixed,
			outcomeWords[row.missing], outcomeWords[row.invalid], outcomeWords[row.object], outcomeWords[row.empty])
	}
	for op := Op(1); op < opCount; op++ {
		fmt.Fprintf(b, "\n## %s\n\n%s\n", specs[op].name, specs[op].doc)
	}
	return b.String()
}
