package attest

import (
	"errors"
	"math/rand"
	"strings"
	"testing"
)

// TestParseClaims: what was written is read, and nothing else is.
func TestParseClaims(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for name := range 100 {
		claims := randomClaims(random)
		text := AppendClaims(nil, claims)
		got, err := ParseClaims(text)
		if err != nil || string(AppendClaims(nil, got)) != string(text) {
			t.Errorf("%d: %+v %v", name, got, err)
		}
		for _, spoilt := range []string{"", "{}", string(text) + " ", strings.Replace(string(text), `"aud":"svc"`, `"aud":"x"`, 1), strings.Replace(string(text), `"exp":`, `"exp":1`, 1)} {
			if _, err := ParseClaims([]byte(spoilt)); !errors.Is(err, errPayload) {
				t.Errorf("%d: %s is read: %v", name, spoilt, err)
			}
		}
	}
}

// TestIssueText: the text of claims is signed as they are, and a spoilt one is not.
func TestIssueText(t *testing.T) {
	s := testSigner(t)
	text := AppendClaims(nil, evmClaims())
	token, err := s.IssueText(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := testVerifier(t, s).Verify(string(token), issuedAt); err != nil || canonicalOf(got) != string(text) {
		t.Errorf("%+v, %v", got, err)
	}
	if token, err := s.IssueText([]byte("before"), text[1:]); !errors.Is(err, errPayload) || string(token) != "before" {
		t.Errorf("%s, %v", token, err)
	}
}
