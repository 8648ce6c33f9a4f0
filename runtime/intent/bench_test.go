package intent

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/vm"
	"bailiff/vm/slot/derived"
)

// evmBody and shellBody are what hook clients send, compact and pretty-printed.
const (
	evmBody = `{"framework":"agent-hooks","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","agentId":"treasury-7","chainId":8453,"intent":{"action":"wallet.transfer","targetAddress":"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913","token":"USDC","amount":"125.50","to":"0x4e59b44847b379578588920ca78fbf26c0b4956c","task_id":"task_0192f0c4","metadata":{"team":"ops","env":"prod","invoice":"INV-2026-001","attempt":2,"model_usage":{"provider":"x","input_tokens":1200,"output_tokens":300,"estimated_spend_usd":"0.0123"}}}}`

	shellBody = `{
  "framework": "agent-hooks",
  "agentId": "agent",
  "txCommit": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "intent": {
    "action": "bash",
    "command": "git status --short && echo \"done\"",
    "task_id": "session-1",
    "metadata": {
      "tool_name": "Bash",
      "tool_input": {
        "command": "git status --short && echo \"done\"",
        "description": "Look at the work tree"
      }
    }
  }
}
`
)

func BenchmarkDecode(b *testing.B) {
	for _, body := range []struct{ name, text string }{{"evm", evmBody}, {"shell", shellBody}} {
		b.Run(body.name, func(b *testing.B) {
			decoder := NewDecoder(Options{})
			source := []byte(body.text)
			b.SetBytes(int64(len(source)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decoder.Decode(source); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTokens is the floor of BenchmarkDecode: the tokenizer alone.
func BenchmarkTokens(b *testing.B) {
	source := []byte(evmBody)
	b.SetBytes(int64(len(source)))
	b.ReportAllocs()
	var tokens jsontext.Decoder
	var buffer bytes.Buffer
	for b.Loop() {
		buffer = *bytes.NewBuffer(source)
		tokens.Reset(&buffer)
		for {
			if _, err := tokens.ReadToken(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkFill(b *testing.B) {
	binding, err := NewBinding([]string{"@action", "chainId", "token", "amount", "targetAddress", "to",
		"metadata.team", "metadata.env", "task_id", "@provenance", "@command"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	in, err := NewDecoder(Options{}).Decode([]byte(evmBody))
	if err != nil {
		b.Fatal(err)
	}
	frame := make([]vm.Value, 11)
	need := vm.SlotSet{1<<0 | 1<<9}
	b.ReportAllocs()
	for b.Loop() {
		in.elements = in.elements[:0]
		binding.Fill(in, Agent, need, frame)
	}
}

// fileBody is what a shim sends before a file is written, with its evidence.
const fileBody = `{"framework":"agent-hooks","txCommit":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","agentId":"coder-3","intent":{"action":"file_write","path":"src/main.go","task_id":"session-1","metadata":{"execution":{"adapter":"hooks","adapter_version":"1.4.0","fail_mode":"closed","boundary_type":"sandbox","writable_roots":["/work/repository","/tmp/agent"],"readable_roots":["/work","/usr"],"credentials_exposed":false,"race_safe_path_resolution":true},"filesystem":{"effects":["create","overwrite"],"targets":[{"supplied":"src/main.go","absolute":"/work/repository/src/main.go","resolved_parent":"/work/repository/src","bytes":5120,"classification":"source"},{"supplied":"out/README.md","absolute":"/work/repository/out/README.md","resolved_parent":"/tmp/agent/out","bytes":812,"classification":"normal"}],"manifest_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},"git":{"operation":"commit","repository_id":"r-17","worktree":"/work/repository","provider":"github","branch":"fix","ref_updates":[{"ref":"refs/heads/fix","fast_forward":true}]},"database":{"operations":["select","insert"],"resources":["public.users"],"statement_count":2,"environment":"staging","credential_capabilities":["select","insert"]}}}}`

// evidenceSlots are all slots that read evidence, but for those of call data.
func evidenceSlots() (names []string) {
	for _, row := range derived.Rows() {
		if row.Name == "@boundary" || row.Name[:3] == "@fs" || row.Name[:3] == "@gi" || row.Name[:3] == "@db" {
			names = append(names, row.Name)
		}
	}
	return names
}

func BenchmarkFillFiles(b *testing.B) {
	names := evidenceSlots()
	binding, err := NewBinding(names, nil)
	if err != nil {
		b.Fatal(err)
	}
	in, err := NewDecoder(Options{}).Decode([]byte(fileBody))
	if err != nil {
		b.Fatal(err)
	}
	frame := make([]vm.Value, len(names))
	texts := len(in.text)
	b.ReportAllocs()
	for b.Loop() {
		in.elements, in.text, in.digest = in.elements[:0], in.text[:texts], digest{}
		binding.Fill(in, Shim, nil, frame)
	}
}

// BenchmarkFillRoots fills a body with as many roots and targets as fit, which has to take time in proportion, nearly.
func BenchmarkFillRoots(b *testing.B) {
	binding, err := NewBinding([]string{"@fs.written.beyond", "@fs.written.roots"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	roots, targets := strings.Repeat(`"/b/a",`, 6000)+`"/c"`, strings.Repeat(`{"absolute":"/b/b","resolved_parent":"/"},`, 1200)
	in, err := NewDecoder(Options{}).Decode([]byte(shared + `"action":"file_write","intent":{"metadata":{"execution":{"race_safe_path_resolution":true,"writable_roots":[` +
		roots + `]},"filesystem":{"effects":["create"],"targets":[` + strings.TrimSuffix(targets, ",") + `]}}}}`))
	if err != nil {
		b.Fatal(err)
	}
	frame := make([]vm.Value, 2)
	texts := len(in.text)
	b.SetBytes(int64(len(in.body)))
	for b.Loop() {
		in.elements, in.text, in.digest = in.elements[:0], in.text[:texts], digest{}
		binding.Fill(in, Shim, nil, frame)
	}
}

func BenchmarkHash(b *testing.B) {
	in, err := NewDecoder(Options{}).Decode([]byte(evmBody))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.Hash(nil)
	}
}

func BenchmarkCanonical(b *testing.B) {
	in, err := NewDecoder(Options{}).Decode([]byte(evmBody))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.form = in.Canonical(nil, in.form[:0])
	}
}
