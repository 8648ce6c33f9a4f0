package compiler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/vm"
)

// FuzzCompile compiles any text. It must neither panic nor take long, a program is there exactly if there is no
// error, and compiling again gives the same.
func FuzzCompile(f *testing.F) {
	f.Add(readExample(f))
	for _, folder := range []string{"golden", "diagnostics"} {
		files, err := filepath.Glob("testdata/" + folder + "/*")
		if err != nil || len(files) == 0 {
			f.Fatal("there are no golden files to start from")
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			for block := range strings.SplitSeq(string(text), "\npolicy") {
				if _, policy, ok := strings.Cut(block, "\nversion"); ok {
					policy, _, _ = strings.Cut(policy, "\n----")
					f.Add([]byte("version" + policy + "\n"))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		start := time.Now()
		src := grammar.NewSource("fuzz", text)
		compiled, found := compileLinted(src)
		if took := time.Since(start); took > 20*time.Second {
			t.Fatalf("compiling %d bytes took %s", len(text), took)
		}
		if (compiled.Program == nil) != found.HasErrors() {
			t.Fatalf("program %v with findings %v", compiled.Program != nil, found)
		}
		for _, d := range found {
			if d.Span.Start < 0 || d.Span.End < d.Span.Start || d.Span.End > len(text) || d.Message == "" {
				t.Fatalf("%+v lies outside of %d bytes", d, len(text))
			}
		}
		if compiled.Program != nil {
			checkProgram(t, src, compiled.Program)
		}
	})
}

// checkProgram makes sure that a program runs on an empty request, knows its lines, and comes out again the same.
func checkProgram(t *testing.T, src *grammar.Source, p *vm.Program) {
	var machine vm.Machine
	if result := machine.Run(p, nil, vm.All); result.Status > vm.Allowed {
		t.Fatalf("status %d", result.Status)
	}
	for pc := range p.Len() {
		span := p.Span(uint16(pc))
		if int(span.Line) != src.Position(int(span.Start)).Line {
			t.Fatalf("instruction %d is of line %d, and its span of line %d", pc, span.Line, src.Position(int(span.Start)).Line)
		}
	}
	again, _ := compileLinted(src)
	if again.Program.Hash() != p.Hash() {
		t.Fatal("compiling again gives another program")
	}
}

// BenchmarkCompile parses and compiles a policy of 200 lines with every kind of section.
func BenchmarkCompile(b *testing.B) {
	src := grammar.NewSource("bench", []byte(twoHundredLines()))
	if lines := strings.Count(string(src.Text), "\n"); lines != 200 {
		b.Fatalf("%d lines", lines)
	}
	b.SetBytes(int64(len(src.Text)))
	for b.Loop() {
		if compiled, found := compileLinted(src); compiled.Program == nil {
			b.Fatal(found)
		}
	}
}

// twoHundredLines returns a policy as a large operator might have it.
func twoHundredLines() string {
	var text strings.Builder
	text.WriteString("version: 2.1.0\n## evm\nallowed_chains: 1, 8453\nallowed_actions: wallet.transfer, contract.call, token.approve\n" +
		"max_transaction_eth: 1\nconsensus_threshold_eth: 0.5\nconsensus_require_hold: true\nrequire_calldata_enrichment: true\n")
	for i := range 20 {
		fmt.Fprintf(&text, "token.T%d.decimals: 6\ntoken.T%d.max_transaction: 250\ntoken.T%d.addresses: 0x%040d\n", i, i, i, i+1)
	}
	text.WriteString("## tool_calls\nallowed: bash, web_fetch, http, file_write, email.send, deploy\nbash.blocked_commands: sudo, rm -rf, curl, nc, ssh\n" +
		"web_fetch.blocked_domains: pastebin.com, 169.254.169.254\nfile_write.blocked_paths: /etc, ~/.ssh, .env\nemail.allowed_recipients: *@example.com\n" +
		"http.allowed_methods: GET, POST\nhttp.allowed_hosts: api.example.com, *.example.org\nhttp.method_rules.GET.require_query_matches: q=[a-z]{1,32}\n" +
		"## mcp\nallowed_servers: files, search\nblocked_tools: *.delete_*\nrequire_approval: files.write_*\n" +
		"## execution_limits\nmax_tool_calls_per_task: 100\nmax_model_spend_usd_per_task: 5\n## soft_limits\ndaily_tool_calls: 1000\n")
	for i := range 10 {
		fmt.Fprintf(&text, "cap.c%d.max_count: 5\ncap.c%d.window: day\ncap.c%d.action: deploy\ncap.c%d.group_by: metadata.g%d\n", i, i, i, i, i)
	}
	text.WriteString("## custom\n")
	for i := strings.Count(text.String(), "\n"); i < 200; i++ {
		fmt.Fprintf(&text, []string{"deny_if.metadata.field%d contains secret\n", "deny_string: never-%d\n", "allow_only.metadata.g%d: a, b, c\n",
			"deny_if.metadata.p%d matches \"^OPS-[0-9]{1,6}|x\"\n", "allow_only[action=deploy].metadata.team%d: red, blue\n"}[i%5], i)
	}
	return text.String()
}
