package laws_test

import (
	"bytes"
	"crypto/rand"
	"strings"
	"testing"

	"bailiff/compiler"
	"bailiff/fuzz/differential"
	"bailiff/fuzz/gen"
	"bailiff/fuzz/laws"
	"bailiff/grammar"
	"bailiff/runtime/attest"
	"bailiff/vm"
)

// planted are faults, one or more for each law, that the law has to find.
var planted = []struct {
	law   string
	fault string
	plant func(*laws.House)
}{
	{"one more denial lets nothing through", "every second policy loses its first denial", func(h *laws.House) {
		everySecond(h, func(text []byte) []byte {
			return dropLine(text, "deny_if", "deny_string", "bash.blocked", "allow_only")
		})
	}},
	{"a higher limit denies nothing", "limits are compared from their end", func(h *laws.House) {
		everySecond(h, func(text []byte) []byte {
			return bytes.ReplaceAll(text, []byte("max_transaction_eth: 9"), []byte("max_transaction_eth: 0.0"))
		})
	}},
	{"the spelling of a request changes nothing", "a request with a line break is denied", func(h *laws.House) {
		judge := h.Judge
		h.Judge = func(b *differential.Bound, body []byte, shim bool) (*differential.Verdict, error) {
			if bytes.Contains(body, []byte("\n")) {
				return &differential.Verdict{Status: "DENIED"}, nil
			}
			return judge(b, body, shim)
		}
	}},
	{"a value has one form", "what is denied passes in base units", func(h *laws.House) {
		passes(h, `"amount_unit"`, "")
	}},
	{"the spelling of a rule changes nothing", "a rule with a capital letter is lost", loseCapitals},
	{"the spelling of a rule about a form changes nothing", "a rule with a capital letter is lost", loseCapitals},
	{"a part of an address is found in any case", "a part is sought in addresses as they are sent", func(h *laws.House) {
		passes(h, `"agentId"`, "custom.deny_string")
	}},
	{"a list around an object escapes no denial", "a list of objects hides what is in it", func(h *laws.House) {
		passes(h, `[{"`, "custom.deny_if")
	}},
	{"a list of paths passes nothing that one of them does not", "several paths pass custom rules", func(h *laws.House) {
		passes(h, `"paths":["`, "custom.")
	}},
	{"of a list of paths each is judged by every list", "several paths pass a list of blocked ones", func(h *laws.House) {
		passes(h, `"paths":["`, "tool_calls.file_write.blocked_paths")
	}},
	{"an amount in base units has one hash", "an amount that does not say so is hashed as a decimal", func(h *laws.House) {
		h.BaseHash = h.Hash
	}},
	{"the spelling of a policy and the order of lists change nothing", "a comment ends the policy", func(h *laws.House) {
		compile := h.Compile
		h.Compile = func(text []byte) (*differential.Bound, error) {
			before, _, _ := bytes.Cut(text, []byte("\n# a comment"))
			return compile(append(before, '\n'))
		}
	}},
	{"the spelling of a policy and the order of lists change nothing", "the last item of a list is lost", func(h *laws.House) {
		compile := h.Compile
		h.Compile = func(text []byte) (*differential.Bound, error) {
			lines := strings.Split(string(text), "\n")
			for i, line := range lines {
				if at := strings.LastIndexByte(line, ','); at > 0 && strings.HasPrefix(line, "allowed") {
					lines[i] = line[:at]
				}
			}
			return compile([]byte(strings.Join(lines, "\n")))
		}
	}},
	{"the order of lines changes no status", "the last line of a section is lost", func(h *laws.House) {
		compile := h.Compile
		h.Compile = func(text []byte) (*differential.Bound, error) {
			lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
			return compile([]byte(strings.Join(lines[:len(lines)-1], "\n") + "\n"))
		}
	}},
	{"formatting changes no program", "the layout forgets a denial", func(h *laws.House) {
		format := h.Format
		h.Format = func(src *grammar.Source) ([]byte, grammar.Diagnostics) {
			text, found := format(src)
			return dropLine(text, "deny_if", "deny_string"), found
		}
	}},
	{"compiling twice gives the same bytes", "every second program lacks a denial", func(h *laws.House) {
		everySecond(h, func(text []byte) []byte { return dropLine(text, "deny_if", "deny_string") })
	}},
	{"any text compiles or does not", "a text with a NUL makes the compiler panic", func(h *laws.House) {
		compile := h.Compile
		h.Compile = func(text []byte) (*differential.Bound, error) {
			if bytes.IndexByte(text, 0) >= 0 {
				panic("a NUL")
			}
			return compile(text)
		}
	}},
	{"any bytes run or do not", "the decoder panics where it should refuse", func(h *laws.House) {
		decode := h.Decode
		h.Decode = func(data []byte) (*vm.Program, error) {
			program, err := decode(data)
			if err != nil {
				panic(err)
			}
			return program, nil
		}
	}},
	{"any bytes run or do not", "the decoder takes other bytes for the program", func(h *laws.House) {
		bound, found := compiler.Compile(grammar.NewSource("policy", []byte("version: 1.0.0\n## custom\ndeny_string: x\n")))
		if bound.Program == nil {
			panic(found)
		}
		h.Decode = func([]byte) (*vm.Program, error) { return bound.Program, nil }
	}},
}

// passes lets requests pass that have a text in their body and are denied by a rule whose name begins so.
func passes(h *laws.House, text, rule string) {
	judge := h.Judge
	h.Judge = func(b *differential.Bound, body []byte, shim bool) (*differential.Verdict, error) {
		verdict, err := judge(b, body, shim)
		if err == nil && verdict.Status == "DENIED" && strings.HasPrefix(verdict.Rule, rule) && bytes.Contains(body, []byte(text)) {
			return &differential.Verdict{Status: "ALLOWED"}, nil
		}
		return verdict, err
	}
}

// loseCapitals drops the custom rules that have a capital letter in its value.
func loseCapitals(h *laws.House) {
	compile := h.Compile
	h.Compile = func(text []byte) (*differential.Bound, error) {
		lines := strings.SplitAfter(string(text), "\n")
		for i, line := range lines {
			if _, value, _ := strings.Cut(line, ": "); (strings.HasPrefix(line, "deny_if") || strings.HasPrefix(line, "allow_only")) && value != strings.ToLower(value) {
				lines[i] = "\n"
			}
		}
		return compile([]byte(strings.Join(lines, "")))
	}
}

// everySecond lets every second compilation see another text.
func everySecond(h *laws.House, change func([]byte) []byte) {
	compile, n := h.Compile, 0
	h.Compile = func(text []byte) (*differential.Bound, error) {
		if n++; n%2 == 0 {
			text = change(text)
		}
		return compile(text)
	}
}

// dropLine returns the text without its first line that begins so.
func dropLine(text []byte, beginnings ...string) []byte {
	lines := strings.SplitAfter(string(text), "\n")
	for i, line := range lines {
		for _, beginning := range beginnings {
			if strings.HasPrefix(line, beginning) {
				return []byte(strings.Join(append(lines[:i:i], lines[i+1:]...), ""))
			}
		}
	}
	return text
}

// TestLawsCatch plants each fault, and runs the law over at most as many batches as the law has.
func TestLawsCatch(t *testing.T) {
	for _, p := range planted {
		t.Run(p.fault, func(t *testing.T) {
			for _, law := range laws.Table {
				if law.Says != p.law {
					continue
				}
				house := laws.NewHouse()
				p.plant(house)
				for n := range int64(law.Batches) {
					if law.Check(house, batch(&law, n)) != "" {
						return
					}
				}
				t.Errorf("%s: not found in %d batches", law.Says, law.Batches)
			}
		})
	}
}

// TestEveryLawHasACanary keeps the two lists together.
func TestEveryLawHasACanary(t *testing.T) {
	has := map[string]bool{
		laws.OneForm:                  true, // in TestFormsCatch
		says(t, "TestRunSaysTheSame"): true, // in TestTestRunCatches
		says(t, "ClaimsOfSpellings"):  true, // in TestClaimsCatch
		says(t, "UsageParts"):         true, // in TestUsageCatches
	}
	for _, p := range planted {
		has[p.law] = true
	}
	for _, law := range laws.Table {
		if !has[law.Says] {
			t.Errorf("nothing is planted for: %s", law.Says)
		}
		delete(has, law.Says)
	}
	for name := range has {
		t.Errorf("no law is called %q", name)
	}
}

// TestTestRunCatches plants simulations that count.
func TestTestRunCatches(t *testing.T) {
	signer, err := attest.LoadOrCreate(t.TempDir(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	decide := func(s *laws.Service, c *gen.Case, _ bool) string { return s.Decide(c, false) }
	for n := range int64(120) {
		if laws.TestRunSaysTheSame(gen.NewBatch(n, 30), signer, decide, map[string]int{}) != "" {
			return
		}
	}
	t.Error("a test-run that advances counters was not found")
}
