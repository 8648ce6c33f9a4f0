package vm

import (
	"strings"
	"testing"
)

// assembleHead begins the texts of refusedAssembly.
const (
	assembleHead    = "machine 6\npolicy \"\"\nfield \"a\"\n"
	assembleCounter = `counter "c" rule0 limit 1 "u" window day `
)

// refusedAssembly are texts that the assembler does not read, and how its messages begin.
var refusedAssembly = map[string]string{
	"":                                    `vm: the text has to begin with "machine" and "policy"`,
	"machine 6\n":                         `vm: the text has to begin with "machine" and "policy"`,
	"machine 5\n":                         `vm: line 1: the text has to begin with "machine 6"`,
	"machine 06\n":                        `vm: line 1: the text has to begin with "machine 6"`,
	"machina 6\n":                         `vm: line 1: the text has to begin with "machine 6"`,
	"\n; machine\nmachine\n":              `vm: line 3: the text has to begin with "machine 6"`,
	"machine 6\npolicies \"\"\n":          `vm: line 2: the second line has to be "policy" and its version`,
	"machine 6\npolicy 2\n":               `vm: line 2: a quoted text is missing`,
	"machine 6\n\"policy\" \"\"":          `vm: line 2: the second line has to be "policy" and its version`,
	"machine 6\npolicy \"\" 2\n":          `vm: line 2: "2" is one word too many`,
	assembleHead + "fields \"b\"\n":       `vm: line 4: "fields" begins no line`,
	assembleHead + "field\n":              `vm: line 4: a quoted text is missing`,
	assembleHead + "field b\n":            `vm: line 4: a quoted text is missing`,
	assembleHead + "field \"b\" \"c\"\n":  `vm: line 4: "c" is one word too many`,
	assembleHead + "field \"b\n":          `vm: line 4: a quoted text does not end`,
	assembleHead + "\"field\" \"b\"\n":    `vm: line 4: a word is missing`,
	assembleHead + "rule \"b\" \"c\"\n":   `vm: line 4: a quoted text is missing`,
	assembleHead + "table \"b\" 2\n":      `vm: line 4: "2": "@" and a number up to 65535 is wanted`,
	assembleHead + "table \"b\" @65536\n": `vm: line 4: "@65536": "@" and a number up to 65535 is wanted`,
	assembleHead + "table \"b\" @-1\n":    `vm: line 4: "@-1": "@" and a number up to 65535 is wanted`,
	assembleHead + "table \"b\" @01\n":    `vm: line 4: "@01": "@" and a number up to 65535 is wanted`,
	assembleHead + "table \"b\" @\n":      `vm: line 4: "@": "@" and a number up to 65535 is wanted`,
	assembleHead + "table \"b\"\n":        `vm: line 4: a word is missing`,
	assembleHead + "table b @1\n":         `vm: line 4: a quoted text is missing`,
	assembleHead + "counter \"c\" rule0 1 \"u\" window day count\n":      `vm: line 4: "limit" is missing`,
	assembleHead + "counter \"c\" rule0 limit 1.5 \"u\" window\n":        `vm: line 4: amount: not a plain decimal`,
	assembleHead + "counter \"c\" rule0 limit 1 window day count\n":      `vm: line 4: a quoted text is missing`,
	assembleHead + "counter \"c\" rule0 limit 1 \"u\" day count\n":       `vm: line 4: "window" is missing`,
	assembleHead + "counter \"c\" rule0 limit 1 \"u\" window week sum\n": `vm: line 4: "week" is not a window`,
	assembleHead + assembleCounter + "min \"a\" decimals 6\n":            `vm: line 4: "min": count, sum or max is wanted`,
	assembleHead + assembleCounter + "sum \"z\" decimals 6\n":            `vm: line 4: no field is called "z"`,
	assembleHead + assembleCounter + "sum \"a\" 6\n":                     `vm: line 4: "decimals" is missing`,
	assembleHead + assembleCounter + "max \"a\" decimals 256\n":          `vm: line 4: "256": "" and a number up to 255 is wanted`,
	assembleHead + assembleCounter + "count \"a\" decimals 6\n":          `vm: line 4: "a" is one word too many`,
	assembleHead + assembleCounter + "count group \"a\"\n":               `vm: line 4: a quoted text is missing`,
	assembleHead + assembleCounter + "count group \"z\" \"z\"\n":         `vm: line 4: no field is called "z"`,
	assembleHead + assembleCounter + "count subgroup \"a\"\n":            `vm: line 4: a quoted text is missing`,
	assembleHead + "1: end\n":                                            `vm: line 4: "1:": the next instruction is "0:"`,
	assembleHead + "0: end\n0: end\n":                                    `vm: line 5: "0:": the next instruction is "1:"`,
	assembleHead + "0: fly\n":                                            `vm: line 4: "fly" is not an operation`,
	assembleHead + "0: \"end\"\n":                                        `vm: line 4: a word is missing`,
	assembleHead + "0: end now\n":                                        `vm: line 4: "now" is one word too many`,
	assembleHead + "0: class human\n":                                    `vm: line 4: "human" is not a class`,
	assembleHead + "0: kind perhaps \"a\" null @1\n":                     `vm: line 4: "if" or "unless" is missing`,
	assembleHead + "0: in if \"a\" const0 @1\n":                          `vm: line 4: "any" or "all" is missing`,
	assembleHead + "0: amount reg2 \"a\" 6 @1\n":                         `vm: line 4: "reg0" or "reg1" is missing`,
	assembleHead + "0: deny \"a\" rule0 @1\n":                            `vm: line 4: "value" or "element" is missing`,
	assembleHead + "0: kind if \"b\" null @1\n":                          `vm: line 4: no field is called "b"`,
	assembleHead + "0: kind if \"a\" null|nil @1\n":                      `vm: line 4: "nil" is not a kind`,
	assembleHead + "0: in if any \"a\" set0 @1\n":                        `vm: line 4: "set0": "const" and a number up to 65535 is wanted`,
	assembleHead + "0: switch \"a\" const0 @1\n":                         `vm: line 4: "const0": "table" and a number up to 65535 is wanted`,
	assembleHead + "0: hold const0\n":                                    `vm: line 4: "const0": "rule" and a number up to 65535 is wanted`,
	assembleHead + "0: reserve rule0\n":                                  `vm: line 4: "rule0": "counter" and a number up to 65535 is wanted`,
	assembleHead + "0: hit if entry0 @1\n":                               `vm: line 4: "entry0": "" and a number up to 65535 is wanted`,
	assembleHead + "globs wild \"a\"\n":                                  `vm: line 4: "wild": mailbox, dotted, segmented or unbounded is wanted`,
	assembleHead + "texts a\n":                                           `vm: line 4: a quoted text is missing`,
	assembleHead + "texts fold\n":                                        `vm: line 4: a quoted text is missing`,
	assembleHead + "amount 5 6 \"u\"\n":                                  `vm: line 4: "decimals" is missing`,
	assembleHead + "token \"t\" 6\n":                                     `vm: line 4: "decimals" is missing`,
	assembleHead + "token \"t\" decimals 6 \":0x\"\n":                    `vm: line 4: a pin without a chain has no colon`,
	assembleHead + "pattern whole\n":                                     `vm: line 4: a quoted text is missing`,
}

// TestAssembleSays holds the message for each line that the assembler does not read.
func TestAssembleSays(t *testing.T) {
	for source, want := range refusedAssembly {
		if _, err := assemble(source); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q\nis refused by %v\nwant %s", strings.TrimPrefix(source, assembleHead), err, want)
		}
	}
}

// TestAssembleSpace holds that white space, blank lines and comments say nothing, and that quotes say what they do in Go.
func TestAssembleSpace(t *testing.T) {
	plain, err := Assemble("machine 6\npolicy \"2;1\"\nfield \"a b\"\nrule \"\\\"\" \"\\n\" \"é\"\n0: kind if \"a b\" null|string @1\n1: reject \"a b\" rule0\n")
	if err != nil {
		t.Fatal(err)
	}
	spaced, err := Assemble("\n ; nothing\r\n\tmachine  6;6\n;\npolicy\"2;1\"\r\n\nfield\t\"a b\" ; \"c\"\nrule \"\\x22\"\"\\n\" `\n")
	if err == nil {
		t.Errorf("a text in other quotes is read: %s", spaced.Disassemble())
	}
	spaced, err = Assemble("\n ; nothing\r\n\tmachine  6;6\n;\npolicy\"2;1\"\r\n\nfield\t\"a b\" ; \"c\"\nrule \"\\x22\"\"\\n\"\t\"\\u00e9\"\n0:\tkind if \"a b\" null|string @1\r\n1: reject \"a b\"rule0;")
	if err != nil || spaced.Hash() != plain.Hash() {
		t.Errorf("with space it is another program: %v", err)
	}
	for _, line := range []string{"table \"b\" @65535", "table \"b\" @0", assembleCounter + "sum \"a\" decimals 255"} {
		if _, err := assemble(assembleHead + line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
