package bench

import (
	"testing"

	"bailiff/runtime/intent"
	"bailiff/vm"
)

// decodeBodies take an intent from bytes to checked fields, and those to the machine's frame.
var decodeBodies = []body{
	{"decode", func(testing.TB) func() error {
		decoder, source := intent.NewDecoder(intent.Options{}), []byte(AllowedIntent)
		return func() error {
			_, err := decoder.Decode(source)
			return err
		}
	}},
	{"decode+fill", func(tb testing.TB) func() error {
		program, binding := compiled(tb)
		decoder, source := intent.NewDecoder(intent.Options{}), []byte(AllowedIntent)
		frame := make([]vm.Value, len(program.Fields()))
		return func() error {
			in, err := decoder.Decode(source)
			if err == nil {
				binding.Fill(in, intent.Agent, program.Needs(in.ActionLower()), frame)
			}
			return err
		}
	}},
}

// BenchmarkDecode reads an intent of about 500 bytes.
func BenchmarkDecode(b *testing.B) { run(b, decodeBodies) }
