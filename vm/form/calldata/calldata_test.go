package calldata

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/sha3"

	"bailiff/vm/amount"
)

// TestTable holds every row to the hash of its signature, and its arguments to their types.
func TestTable(t *testing.T) {
	seen := map[Selector]string{}
	for _, m := range Methods() {
		keccak := sha3.NewLegacyKeccak256()
		keccak.Write([]byte(m.Signature))
		if want := "0x" + hex.EncodeToString(keccak.Sum(nil)[:4]); m.Selector.String() != want {
			t.Errorf("%s has selector %s, want %s", m.Signature, m.Selector, want)
		}
		if seen[m.Selector] != "" {
			t.Errorf("%s and %s have one selector", m.Signature, seen[m.Selector])
		}
		seen[m.Selector] = m.Signature
		types, err := argumentTypes(m.Signature)
		if err != nil {
			t.Errorf("%s: %v", m.Signature, err)
		}
		if m.Kind.Judged() {
			checkArguments(t, &m, types)
		}
	}
	if len(seen) != len(bySelector) || Lookup(Selector{1, 2, 3, 4}) != nil {
		t.Errorf("%d rows, %d selectors", len(seen), len(bySelector))
	}
}

func checkArguments(t *testing.T, m *Method, types []string) {
	t.Helper()
	if len(types) != m.words || m.words > maxWords || m.dynamic != slices.Contains(types, "bytes") {
		t.Errorf("%s takes %v, and the row says %d words", m.Signature, types, m.words)
	}
	want := map[int]string{m.from: "address", m.party: "address"}
	switch m.amount {
	case amountArgument:
		want[m.argument] = "uint256"
	case amountFlag:
		want[m.argument] = "bool"
	default:
		if m.argument != 0 {
			t.Errorf("%s has an argument that is not read", m.Signature)
		}
	}
	delete(want, 0)
	for number, kind := range want {
		if number > len(types) || types[number-1] != kind {
			t.Errorf("%s: argument %d is not of type %s", m.Signature, number, kind)
		}
	}
	if (m.Kind == TransferFrom) != m.HasFrom() && m.Kind != Allowance {
		t.Errorf("%s: kind %d and from %d", m.Signature, m.Kind, m.from)
	}
}

const (
	alice = "0000000000000000000000001111111111111111111111111111111111111111"
	bob   = "0000000000000000000000002222222222222222222222222222222222222222"
	seven = "0000000000000000000000000000000000000000000000000000000000000007"
	zero  = "0000000000000000000000000000000000000000000000000000000000000000"
	one   = "0000000000000000000000000000000000000000000000000000000000000001"
	most  = "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
)

// data returns the call data of a method with arguments of one word each.
func data(t *testing.T, signature string, words ...string) string {
	t.Helper()
	s, err := ParseSelector(signature)
	if err != nil {
		t.Fatalf("%s: %v", signature, err)
	}
	return s.String() + strings.Join(words, "")
}

func read(t *testing.T, text string) Call {
	t.Helper()
	c, ok := ReadHex(text, amount.FromUint64(9))
	if !ok {
		t.Fatalf("%s is not read", text)
	}
	return c
}

const (
	a = "0x1111111111111111111111111111111111111111"
	b = "0x2222222222222222222222222222222222222222"
	n = "0x0000000000000000000000000000000000000000"
)

// A tokenCall is the call of a token method, and what it is to be read as.
type tokenCall struct {
	signature          string
	words              []string
	kind               Kind
	from, party, units string
}

// tokenCalls returns a call of every token method.
func tokenCalls() []tokenCall {
	unlimited := Unlimited.String()
	return []tokenCall{
		{"transfer(address,uint256)", []string{bob, seven}, Transfer, n, b, "7"},
		{"transferFrom(address,address,uint256)", []string{alice, bob, seven}, TransferFrom, a, b, "7"},
		{"approve(address,uint256)", []string{bob, most}, Allowance, n, b, unlimited},
		{"increaseAllowance(address,uint256)", []string{bob, seven}, Allowance, n, b, "7"},
		{"increaseApproval(address,uint256)", []string{bob, seven}, Allowance, n, b, "7"},
		{"decreaseAllowance(address,uint256)", []string{bob, seven}, Allowance, n, b, "0"},
		{"decreaseApproval(address,uint256)", []string{bob, most}, Allowance, n, b, "0"},
		{"permit(address,address,uint256,uint256,uint8,bytes32,bytes32)", []string{alice, bob, seven, one, one, one, one}, Allowance, a, b, "7"},
		{"permit(address,address,uint256,uint256,bytes)", []string{alice, bob, seven, one, one}, Allowance, a, b, "7"},
		{"permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)", []string{alice, bob, seven, seven, one, one, one, one}, Allowance, a, b, unlimited},
		{"permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)", []string{alice, bob, seven, seven, zero, one, one, one}, Allowance, a, b, "0"},
		{"permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)", []string{alice, bob, seven, seven, seven, one, one, one}, Allowance, a, b, unlimited},
		{"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", []string{alice, bob, seven, one, one, one, one, one, one}, TransferFrom, a, b, "7"},
		{"transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", []string{alice, bob, seven, one, one, one, one}, TransferFrom, a, b, "7"},
		{"receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)", []string{alice, bob, seven, one, one, one, one, one, one}, TransferFrom, a, b, "7"},
		{"receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)", []string{alice, bob, seven, one, one, one, one}, TransferFrom, a, b, "7"},
		{"transferAndCall(address,uint256)", []string{bob, seven}, Transfer, n, b, "7"},
		{"transferAndCall(address,uint256,bytes)", []string{bob, seven, one}, Transfer, n, b, "7"},
		{"transferFromAndCall(address,address,uint256)", []string{alice, bob, seven}, TransferFrom, a, b, "7"},
		{"transferFromAndCall(address,address,uint256,bytes)", []string{alice, bob, seven, one}, TransferFrom, a, b, "7"},
		{"approveAndCall(address,uint256)", []string{bob, seven}, Allowance, n, b, "7"},
		{"approveAndCall(address,uint256,bytes)", []string{bob, seven, one}, Allowance, n, b, "7"},
		{"send(address,uint256,bytes)", []string{bob, seven, one}, Transfer, n, b, "7"},
		{"operatorSend(address,address,uint256,bytes,bytes)", []string{alice, bob, seven, one, one}, TransferFrom, a, b, "7"},
		{"burn(uint256,bytes)", []string{seven, one}, Transfer, n, n, "7"},
		{"operatorBurn(address,uint256,bytes,bytes)", []string{alice, seven, one, one}, TransferFrom, a, n, "7"},
		{"authorizeOperator(address)", []string{bob}, Allowance, n, b, unlimited},
		{"revokeOperator(address)", []string{bob}, Allowance, n, b, "0"},
		{"deposit()", nil, Transfer, n, n, "9"}, // the native value
		{"withdraw(uint256)", []string{seven}, Transfer, n, n, "7"},
	}
}

func TestRead(t *testing.T) {
	for _, x := range tokenCalls() {
		text := data(t, x.signature, x.words...)
		c := read(t, text)
		if !c.Judged() || c.Method.Kind != x.kind || c.Malformed || c.From.String() != x.from || c.Party.String() != x.party || c.Amount.String() != x.units {
			t.Errorf("%s: %+v", x.signature, c)
		}
		if upper := read(t, "0x"+strings.ToUpper(text[2:])); upper != c {
			t.Errorf("%s in upper case: %+v", x.signature, upper)
		}
		for cut := len(text) - 2; cut >= len("0x")+2*selectorBytes; cut -= 2 {
			if c := read(t, text[:cut]); !c.Malformed || !c.Amount.IsZero() {
				t.Fatalf("%s, cut to %d: %+v", x.signature, cut, c)
			}
		}
		if c := read(t, text+"00"); c.Malformed || c.Amount.String() != x.units || c.Exact() {
			t.Errorf("%s and a byte more: %+v", x.signature, c)
		}
		if c.Exact() == slices.ContainsFunc([]string{"bytes)", "bytes,bytes)"}, func(end string) bool { return strings.HasSuffix(x.signature, end) }) {
			t.Errorf("%s: exact is %t", x.signature, c.Exact())
		}
		for i := range x.words {
			if x.words[i] != alice && x.words[i] != bob {
				continue
			}
			dirty := slices.Clone(x.words)
			dirty[i] = "01" + dirty[i][2:]
			if d := read(t, data(t, x.signature, dirty...)); d.Malformed || d.Exact() || d.Party != c.Party || d.From != c.From || d.Amount != c.Amount {
				t.Errorf("%s with more than an address: %+v", x.signature, d)
			}
		}
	}
}

// TestEveryMethodIsRead makes sure that TestRead leaves no token method out.
func TestEveryMethodIsRead(t *testing.T) {
	for _, m := range tokenMethods {
		c := read(t, m.Selector.String()+strings.Repeat(zero, m.words))
		if c.Method.Signature != m.Signature || c.Malformed {
			t.Errorf("%s: %+v", m.Signature, c)
		}
	}
	for _, m := range accountMethods {
		c := read(t, m.Selector.String()) // the arguments do not matter
		if c.Judged() || c.RunsCalls() == (m.Kind == Multicall) || c.Method.Name() != strings.Split(m.Signature, "(")[0] {
			t.Errorf("%s: %+v", m.Signature, c)
		}
	}
}

func TestReadOther(t *testing.T) {
	for _, x := range []struct {
		text     string
		size     int
		selector string
	}{
		{"", 0, "0x00000000"}, {"0x", 0, "0x00000000"}, {"0xa9059c", 3, "0x00000000"}, {"0x12345678", 4, "0x12345678"},
		{"0x12345678" + most + most + most + most + most + most + most + most + most + most + "01", 325, "0x12345678"},
	} {
		c := read(t, x.text)
		if c.Method != nil || c.Size != x.size || c.Selector.String() != x.selector || c.Judged() || c.RunsCalls() || c.Exact() || c.Malformed || c.Empty() != (x.size == 0) {
			t.Errorf("%s: %+v", x.text, c)
		}
	}
	for _, text := range []string{"0", "1x", "0x1", "0X", "0xzz", "a9059cbb", "0xa9059cbg"} {
		if c, ok := ReadHex(text, amount.Amount{}); ok {
			t.Errorf("%s: %+v", text, c)
		}
	}
}

func TestReadDoesNotAllocate(t *testing.T) {
	text := data(t, "transferFrom(address,address,uint256)", alice, bob, seven)
	if n := testing.AllocsPerRun(100, func() { ReadHex(text, amount.Amount{}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestParseSelector(t *testing.T) {
	for text, want := range map[string]string{"transfer(address,uint256)": "0xa9059cbb", "0xA9059CBB": "0xa9059cbb", "deposit()": "0xd0e30db0"} {
		if s, err := ParseSelector(text); err != nil || s.String() != want {
			t.Errorf("%s: %s %v, want %s", text, s, err, want)
		}
	}
	for _, text := range []string{"f(uint8[3][],(bytes32,(bool,string)[2])[],int24)", "_$1(function)"} {
		if _, err := ParseSelector(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]error{
		"": errSignature, "transfer": errSignature, "0xa9059c": ErrSelector, "0xa9059cbb00": ErrSelector, "0xa9059cbg": ErrSelector, "0x": ErrSelector,
		"transfer(address, uint256)": errSignature, "transfer(address,uint256": errSignature, "transfer(address,uint256))": errSignature,
		"transfer(address,uint)": errAlias, "f(int)": errAlias, "f(uint7)": errSignature, "f(uint12)": errSignature, "f(address[2]x)": errSignature, "f(uint08)": errSignature, "f(uint264)": errSignature,
		"f(bytes33)": errSignature, "f(bytes0)": errSignature, "f(,)": errSignature, "f(address,)": errSignature, "f(())": errSignature,
		"1f()": errSignature, "()": errSignature, "f(address to)": errSignature, "f(address[0])": errSignature, "f(address[)": errSignature,
		"f(uuint8)": errSignature, "f (address)": errSignature, "f(" + strings.Repeat("(", 100) + "bool" + strings.Repeat(")", 101): errSignature,
	} {
		if s, err := ParseSelector(text); err != want {
			t.Errorf("%s: %s %v, want %v", text, s, err, want)
		}
	}
}

func TestMatch(t *testing.T) {
	transfer := data(t, "transfer(address,uint256)", bob, seven)
	for _, x := range []struct {
		action string
		token  bool
		amount uint64
		to     []string
		data   string
		want   Mismatch
	}{
		{"wallet.transfer", false, 0, nil, "", Fits},
		{"wallet.transfer", false, 0, nil, "0x", Fits},
		{"wallet.transfer", false, 0, nil, "0x00", NativeData},
		{"wallet.transfer", false, 0, nil, transfer, NativeData},
		{"contract.call", false, 0, []string{a}, transfer, Fits},
		{"erc4337.userop", false, 0, nil, "0x12345678", Fits},
		{"wallet.transfer", true, 7, []string{b, b}, transfer, Fits},
		{"wallet.transfer", true, 7, []string{b, a}, transfer, OtherRecipient},
		{"wallet.transfer", true, 7, []string{}, transfer, OtherRecipient},
		{"wallet.transfer", true, 8, nil, transfer, Fits},
		{"wallet.transfer", true, 7, nil, data(t, "transferFrom(address,address,uint256)", alice, bob, seven), Fits},
		{"wallet.transfer", true, 6, nil, transfer, LargerAmount},
		{"wallet.transfer", true, 7, []string{a}, transfer, OtherRecipient},
		{"wallet.transfer", true, 7, nil, transfer[:len(transfer)-2], CutOff},
		{"wallet.transfer", true, 7, nil, "0x", OtherMethod},
		{"wallet.transfer", true, 7, nil, data(t, "approve(address,uint256)", bob, seven), OtherMethod},
		{"wallet.transfer", true, 7, nil, data(t, "transferAndCall(address,uint256)", bob, seven), OtherMethod},
		{"wallet.transfer", true, 7, nil, data(t, "multicall(bytes[])", one, zero), OtherMethod},
		{"token.approve", true, 7, []string{b}, data(t, "approve(address,uint256)", bob, seven), Fits},
		{"token.approve", true, 7, nil, data(t, "increaseAllowance(address,uint256)", bob, seven), Fits},
		{"token.approve", true, 7, nil, data(t, "decreaseAllowance(address,uint256)", bob, seven), OtherMethod},
		{"token.approve", true, 7, nil, data(t, "permit(address,address,uint256,uint256,bytes)", alice, bob, seven, one, one), OtherMethod},
		{"token.approve", true, 7, nil, transfer, OtherMethod},
		{"token.approve", true, 6, nil, data(t, "approve(address,uint256)", bob, most), LargerAmount},
		{"contract.call", true, 7, nil, data(t, "permit(address,address,uint256,uint256,bytes)", alice, bob, seven, one, one), Fits},
		{"treasury.move", true, 7, []string{b}, data(t, "send(address,uint256,bytes)", bob, seven, one), Fits},
		{"treasury.move", true, 7, []string{b}, data(t, "burn(uint256,bytes)", seven, one), OtherRecipient},
		{"treasury.move", true, 7, nil, data(t, "mint(address,uint256)", bob, seven), OtherMethod},
	} {
		c := read(t, x.data)
		in := Intent{Action: x.action, Token: x.token, Amount: amount.FromUint64(x.amount)}
		if x.to != nil {
			in.To = slices.Values(x.to)
		}
		if got := Match(&c, &in); got != x.want {
			t.Errorf("%+v: %s", x, got)
		}
	}
}
