package intent

import (
	"bytes"
	"io"
	"testing"

	"bailiff/vm"

	"github.com/go-json-experiment/json/jsontext"
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
		"metadata.team", "metadata.env", "task_id", "@provenance", "@command"})
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

func BenchmarkHash(b *testing.B) {
	in, err := NewDecoder(Options{}).Decode([]byte(evmBody))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.Hash()
	}
}

func BenchmarkCanonical(b *testing.B) {
	in, err := NewDecoder(Options{}).Decode([]byte(evmBody))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in.form = in.Canonical(in.form[:0])
	}
}
