package intent

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/vm"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// FuzzDecode: no body makes the decoder panic; a refusal keeps to its bounds; an accepted body's canonical form is
// one that decodes to itself, and every slot can be filled, with a reason where a path or command can't be read.
func FuzzDecode(f *testing.F) {
	seeds := goldenBodies(f)
	if len(seeds) < 100 {
		f.Fatalf("only %d seeds", len(seeds))
	}
	for _, body := range seeds {
		f.Add([]byte(body))
	}
	var names []string
	for _, row := range slot.Fields() {
		if row.Field != slot.IntentObject {
			names = append(names, row.Name)
		}
	}
	for _, row := range derived.Rows() {
		names = append(names, row.Name)
	}
	names = append(names, "metadata.a.b", "arguments.p", "metadata.serverId", "metadata.toolName")
	binding, err := NewBinding(names, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := NewDecoder(Options{}).Decode(body)
		if err != nil {
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("%v is no *Error", err)
			}
			checkMessage(t, refusal)
			checkRest(t, refusal)
			return
		}
		frame := make([]vm.Value, len(binding.sources))
		binding.Fill(in, Shim, nil, frame)
		for i, name := range names {
			showUnreadable(t, in, name, frame[i])
		}
		if problem := fixpoint(in); problem != "" {
			t.Fatal(problem)
		}
	})
}

// fixpoint returns how the canonical form of a request differs from that of the request that it makes by itself.
func fixpoint(in *Intent) string {
	form := in.Canonical(nil, nil)
	commitment := `,"txCommit":"` + in.Text(slot.TxCommit)
	if in.Has(slot.UserOpHash) {
		commitment = `,"userOpHash":"` + in.Text(slot.UserOpHash)
	}
	request := bytes.TrimSuffix(form, []byte(`,"v":2}`))
	if _, ok := in.amountBase(nil); ok { // it is written in base units
		request = bytes.Replace(request, []byte(`"intent":{`), []byte(`"intent":{"amount_unit":"base",`), 1)
	}
	body := append(request, `,"framework":"`+in.Text(slot.Framework)+`"`+commitment+`"}`...)
	if len(body) > MaxBody {
		return "" // 9e15 has become longer, and the bound is one on requests
	}
	again, err := NewDecoder(Options{}).Decode(body)
	if err != nil {
		return "the canonical form is refused: " + err.Error() + "\n" + string(body)
	}
	if again.Hash(nil) != in.Hash(nil) {
		return "the canonical form changes:\n" + string(in.Canonical(nil, nil)) + "\n" + string(again.Canonical(nil, nil))
	}
	return ""
}

// TestFixpointCanary plants a number that is not canonical into a decoded request and expects fixpoint to notice.
func TestFixpointCanary(t *testing.T) {
	plant := func(f slot.Field, member, text string) string {
		in, err := NewDecoder(Options{}).Decode([]byte(evmBody))
		if err != nil {
			t.Fatal(err)
		}
		at := in.at[f]
		if member != "" {
			at = in.member(at, member)
		}
		in.nodes[at].text = text
		return fixpoint(in)
	}
	if problem := plant(slot.Metadata, "attempt", "2"); problem != "" {
		t.Errorf("without a fault: %s", problem)
	}
	if plant(slot.Metadata, "attempt", "2.0") == "" {
		t.Error("nobody noticed a form that is not canonical")
	}
}

// goldenBodies returns the bodies of the golden files, and those of the benchmarks.
func goldenBodies(t testing.TB) []string {
	bodies := []string{evmBody, shellBody, fileBody}
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "+") || strings.HasPrefix(line, "{") {
				bodies = append(bodies, goldenBody(line))
			}
		}
	}
	return bodies
}

// TestReuse decodes one body after the other with one decoder and expects of each what a fresh decoder gives, so
// that nothing is left over from the request before.
func TestReuse(t *testing.T) {
	decoder := NewDecoder(Options{})
	show := func(in *Intent, err error) string {
		if err != nil {
			return err.Error()
		}
		return showIntent(in)
	}
	for _, body := range goldenBodies(t) {
		want := show(NewDecoder(Options{}).Decode([]byte(body)))
		if got := show(decoder.Decode([]byte(body))); got != want {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
}

// TestBorrow: the intent keeps nothing of the body that it was decoded from.
func TestBorrow(t *testing.T) {
	body := []byte(evmBody)
	in, err := NewDecoder(Options{}).Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	want := in.Hash(nil)
	clear(body)
	if in.Hash(nil) != want || in.Text(slot.Token) != "USDC" {
		t.Error("the intent changed with the body")
	}
}

// TestAllocations holds typical requests to allocate nothing, from the body to the frame and the hash.
func TestAllocations(t *testing.T) {
	names := []string{"action", "@action", "chainId", "amount", "token", "to", "metadata.team", "@provenance", "@command", "@text", "@token"}
	binding, err := NewBinding(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	need := vm.SlotSet{math.MaxUint64 &^ (1 << 8)} // all but @command, which is parsed
	frame := make([]vm.Value, len(names))
	decoder := NewDecoder(Options{})
	for _, body := range [][]byte{[]byte(evmBody), []byte(shellBody)} {
		allocations := testing.AllocsPerRun(100, func() {
			in, err := decoder.Decode(body)
			if err != nil {
				t.Fatal(err)
			}
			binding.Fill(in, Agent, need, frame)
			in.Hash(nil)
		})
		if allocations != 0 {
			t.Errorf("%v allocations for %.40s", allocations, body)
		}
		if frame[1].Kind != vm.String || frame[8].Kind != vm.Invalid || frame[9].Text == "" {
			t.Errorf("the frame is %+v", frame)
		}
	}
}

// TestEvidenceAllocations holds a file_write with evidence about files, git and a database to allocate nothing either.
func TestEvidenceAllocations(t *testing.T) {
	names := evidenceSlots()
	binding, err := NewBinding(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]vm.Value, len(names))
	decoder := NewDecoder(Options{})
	if allocations := testing.AllocsPerRun(100, func() {
		in, err := decoder.Decode([]byte(fileBody))
		if err != nil {
			t.Fatal(err)
		}
		binding.Fill(in, Shim, nil, frame)
	}); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
	for i, name := range names {
		missing := name == "@fs.read" || name == "@fs.read.beyond" || name == "@fs.written.roots" || name == "@fs.written.beyond" ||
			name == "@fs.git" || strings.HasPrefix(name, "@fs.taken") || name == "@git.forced" || name == "@git.worktree.beyond" || name == "@git.remote_scheme"
		if frame[i].Kind == vm.Invalid || (frame[i].Kind == vm.Missing) != missing {
			t.Errorf("%s is %s", name, showValue(frame[i]))
		}
	}
}

// TestRefill fills a frame twice from one request: the second values are those of the first, and these stay as they were.
func TestRefill(t *testing.T) {
	names := evidenceSlots()
	binding, err := NewBinding(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := NewDecoder(Options{}).Decode([]byte(fileBody))
	if err != nil {
		t.Fatal(err)
	}
	first, second := make([]vm.Value, len(names)), make([]vm.Value, len(names))
	binding.Fill(in, Shim, nil, first)
	var shown []string
	for _, value := range first {
		shown = append(shown, showValue(value))
	}
	binding.Fill(in, Shim, nil, second)
	for i, name := range names {
		if showValue(first[i]) != shown[i] || showValue(second[i]) != shown[i] {
			t.Errorf("%s was %s, became %s and %s", name, shown[i], showValue(first[i]), showValue(second[i]))
		}
	}
}
