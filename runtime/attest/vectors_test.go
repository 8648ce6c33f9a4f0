package attest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write docs/vectors/attestations.json anew")

// vectorsFile has attestations, good and bad, for those who verify them with code of their own.
const vectorsFile = "../../docs/vectors/attestations.json"

// published is the content of vectorsFile. A vector's result is ok, or the step that refuses it.
type published struct {
	About   string          `json:"about"`
	Issuer  string          `json:"issuer"`
	JWKS    json.RawMessage `json:"jwks"`
	PQCKeys json.RawMessage `json:"pqcKeys"`
	Vectors []vector        `json:"vectors"`
}

type vector struct {
	Name   string  `json:"name"`
	Now    int64   `json:"now"` // Unix seconds
	Expect *expect `json:"expect,omitempty"`
	Result string  `json:"result"`
	Token  string  `json:"token"`
}

// expect is what a relying party knows of the action that it is about to carry out.
type expect struct {
	TxCommit      string `json:"txCommit,omitempty"`
	UserOpHash    string `json:"userOpHash,omitempty"`
	PolicyHash    string `json:"policyHash"`
	ChainID       uint64 `json:"chainId,omitempty"`
	RefuseObserve bool   `json:"refuseObserve,omitempty"`
}

// makeVectors makes the file's content: the attacks of this package, and good attestations that do or do not fit.
func makeVectors(t *testing.T) published {
	s := testSigner(t)
	all := published{
		About:  "Attestations, good and bad. Verify each one at the time now; result is ok, or the step that refuses it (docs/verify.md).",
		Issuer: issuer, JWKS: s.JWKS(issuedAt), PQCKeys: s.PQCKeys(issuedAt),
	}
	transfer := expect{TxCommit: digest("transaction"), PolicyHash: digest("policy"), ChainID: 8453}
	tool := expect{TxCommit: digest("transaction"), PolicyHash: digest("policy")}
	operation := expect{UserOpHash: "0x" + digest("operation"), PolicyHash: digest("policy"), ChainID: 8453}
	with := func(of expect, change func(*expect)) *expect { change(&of); return &of }
	for _, one := range []struct {
		name   string
		claims *Claims
		after  int64 // seconds after the issue
		expect *expect
		result string
	}{
		{"a transfer", evmClaims(), 0, &transfer, "ok"},
		{"a tool call, while observing", toolClaims(), 0, &tool, "ok"},
		{"a user operation", userOpClaims(), 0, &operation, "ok"},
		{"at the last second", evmClaims(), 59, &transfer, "ok"},
		{"by a clock that is 5 seconds behind", evmClaims(), -5, &transfer, "ok"},
		{"a second too late", evmClaims(), 60, &transfer, "expired"},
		{"by a clock that is 6 seconds behind", evmClaims(), -6, &transfer, "not_yet_valid"},
		{"of another transaction", evmClaims(), 0, with(transfer, func(e *expect) { e.TxCommit = digest("another") }), "commitment"},
		{"of a transaction, for an operation", evmClaims(), 0, &operation, "commitment"},
		{"of an operation, for a transaction", userOpClaims(), 0, &transfer, "commitment"},
		{"under another policy", evmClaims(), 0, with(transfer, func(e *expect) { e.PolicyHash = digest("another") }), "policy"},
		{"on another chain", evmClaims(), 0, with(transfer, func(e *expect) { e.ChainID = 1 }), "chain"},
		{"without a chain", toolClaims(), 0, with(tool, func(e *expect) { e.ChainID = 1 }), "chain"},
		{"while observing, where that is refused", toolClaims(), 0, with(tool, func(e *expect) { e.RefuseObserve = true }), "observe"},
	} {
		all.Vectors = append(all.Vectors, vector{one.name, issuedAt.Unix() + one.after, one.expect, one.result, issue(t, s, one.claims)})
	}
	for _, a := range attacks(t, s) {
		all.Vectors = append(all.Vectors, vector{"attack: " + a.name, a.at().Unix(), nil, Step(a.want), a.token})
	}
	return all
}

// TestVectors holds docs/vectors to what this package makes and finds. Signatures differ from one making to the next, so
// that of tokens only what is found is compared.
func TestVectors(t *testing.T) {
	made, kept := makeVectors(t), readPublished(t)
	if *rewrite && blank(made) != blank(kept) {
		writePublished(t, made)
		kept = made
	}
	if blank(made) != blank(kept) {
		t.Error("docs/vectors/attestations.json is not what is made now; run go test ./runtime/attest -run TestVectors -rewrite")
	}
	v, err := NewVerifier(kept.Issuer, kept.JWKS, kept.PQCKeys)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range kept.Vectors {
		_, err := v.Verify(one.Token, time.Unix(one.Now, 0))
		if step := Step(err); step != one.Result && (err != nil || one.Expect == nil) {
			t.Errorf("%s: %q (%v), want %q", one.Name, step, err, one.Result)
		}
	}
}

// readPublished returns what the file has, and nothing where it is missing.
func readPublished(t *testing.T) (kept published) {
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Log(err)
		return kept
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

func writePublished(t *testing.T, made published) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(made); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorsFile, text.Bytes(), 0o644); err != nil { //nolint:gosec // it is to be read
		t.Fatal(err)
	}
}

// blank is the text of vectors without their tokens and without white space.
func blank(v published) string {
	v.Vectors = slices.Clone(v.Vectors)
	for i := range v.Vectors {
		v.Vectors[i].Token = ""
	}
	text, _ := json.Marshal(v)
	return string(text)
}
