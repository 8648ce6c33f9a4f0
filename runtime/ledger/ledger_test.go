package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestIDText(t *testing.T) {
	id := ID{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0xff, 0x77, 0xff, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}.UUIDv4()
	const text = "00112233-4455-4f77-bf99-aabbccddeeff"
	if id.String() != text {
		t.Fatalf("String is %s", id)
	}
	if got, err := ParseID(text); err != nil || got != id {
		t.Fatalf("ParseID: %v, %v", got, err)
	}
	for _, bad := range []string{
		"", strings.ToUpper(text), text + "0", text[:35], strings.ReplaceAll(text, "-", ""),
		"0011223344-55-4f77-bf99-aabbccddeeff", "g" + text[1:], "{" + text[1:35] + "}",
	} {
		if _, err := ParseID(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("ParseID(%q): %v", bad, err)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("00112233-4455-4f77-bf99-aabbccddeeff")
	f.Add("00112233-4455-4F77-bf99-aabbccddeeff")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := ParseID(text); err == nil && id.String() != text {
			t.Fatalf("%q is read as %s", text, id)
		}
	})
}

func TestScopes(t *testing.T) {
	var all Scopes
	for _, name := range AllScopes.Names() {
		scope, err := ParseScope(name)
		if err != nil || all.Has(scope) {
			t.Fatalf("%s: %v, %v", name, scope, err)
		}
		all |= scope
	}
	if all != AllScopes || all.String() != "authorize warranty:deploy webhooks:write" {
		t.Fatalf("all scopes are %q", all)
	}
	if ScopeAuthorize.Has(AllScopes) || !AllScopes.Has(ScopeDeploy) {
		t.Fatal("Has")
	}
	if _, err := ParseScope("Authorize"); !errors.Is(err, ErrInvalid) {
		t.Fatalf("another spelling: %v", err)
	}
}

func TestClip(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("a", 1024), strings.Repeat("a", 1025), strings.Repeat("é", 600), "a" + strings.Repeat("🜂", 300), strings.Repeat("\x80", 2000)} {
		got := Clip(text)
		if len(got) > MaxEventDetail || !strings.HasPrefix(text, got) || len(text) <= MaxEventDetail && got != text || len(got) < min(len(text), MaxEventDetail-3) {
			t.Errorf("%.10q of %d bytes is cut to %d", text, len(text), len(got))
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%.10q is cut within a character", text)
		}
	}
}

func TestTicket(t *testing.T) {
	early := NewTicket(Outcome{Result: Passed}, nil, nil)
	if err := early.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	c := NewCommitment()
	late := NewTicket(Outcome{}, c, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("the client has gone")
	cancel(reason)
	if err := late.Wait(ctx); !errors.Is(err, ErrUnknown) || !errors.Is(err, reason) {
		t.Fatalf("aborted: %v", err)
	}
	c.Settle(nil)
	if err := late.Wait(ctx); err != nil {
		t.Fatalf("what is durable is told to those who gave up, too: %v", err)
	}
	if (Outcome{}).Decision == Allowed || (Outcome{}).Result.Recorded() {
		t.Fatal("the zero outcome says something")
	}
}
