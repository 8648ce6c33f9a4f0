package mask

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"curl -H 'Authorization: Bearer abc.def' https://x": "curl -H 'Authorization: Bearer [masked]' https://x",
		"bearer x":                               "bearer [masked]",
		"Authorization: Basic dXNlcjpwYXNz":      "Authorization: Basic [masked]",
		`"authorization": "token 0123456789"`:    `"authorization": "token [masked]"`,
		"a basic idea, token ring":               "a basic idea, token ring",
		"sk_live_0123456789abcdef":               "sk_[masked]",
		"key=sk-proj-0123456789abcdef0123, next": "key=sk-[masked], next",
		"risk_assessment and disk_usage sk_x":    "risk_assessment and disk_usage sk_x",
		"ghp_0123456789abcdef":                   "ghp_[masked]",
		"xoxb-1234-5678-abcdef":                  "xoxb-[masked]",
		"AKIAIOSFODNN7EXAMPLE":                   "AKIA[masked]",
		"ASIAIOSFODNN":                           "ASIA[masked]",
		"akiaiosfodnn7example and asianmarkets":  "akia[masked] and asianmarkets",
		"AKIAIOSF":                               "AKIAIOSF",
		"eyJhbGciOiJFZERTQSJ9.e30.c2ln":          "eyJ[masked]",
		"x -----BEGIN EC PRIVATE KEY-----\nMC4=\n-----END EC PRIVATE KEY----- y": "x -----BEGIN EC PRIVATE KEY-----[masked]-----END EC PRIVATE KEY----- y",
		"-----BEGIN PRIVATE KEY-----\nMC4C":                                      "-----BEGIN PRIVATE KEY-----[masked]",
		"https://user:secret@example.com/a":                                      "https://user:[masked]@example.com/a",
		"https://user:se@cret@example.com/a":                                     "https://user:[masked]@example.com/a",
		"https://:secret@example.com/a":                                          "https://:[masked]@example.com/a",
		"postgres://app:hunter":                                                  "postgres://app:[masked]",
		"curl -u user:secret@host":                                               "curl -u user:[masked]@host",
		"https://example.com:8080/a@b":                                           "https://example.com:8080/a@b",
		"https://example.com:8080":                                               "https://example.com:8080",
		"git@example.com:org/repo.git":                                           "git@example.com:org/repo.git",
		"mailto:ann@example.com":                                                 "mailto:ann@example.com",
		"To:ann@example.com":                                                     "To:ann@example.com",
		"password=hunter2&x=1":                                                   "password=[masked]&x=1",
		`export API_KEY="a b" x`:                                                 `export API_KEY="[masked]" x`,
		"PGPASSWORD=hunter2 psql":                                                "PGPASSWORD=[masked] psql",
		"max_tokens=5 token=":                                                    "max_tokens=5 token=",
		"":                                                                       "",
		"git status --short":                                                     "git status --short",
		"/srv/app/main.go":                                                       "/srv/app/main.go",
		"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913":                             "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is masked as %q, want %q", text, got, want)
		}
	}
}

// TestTable: each row finds its own example, and no row is there that the others make superfluous.
func TestTable(t *testing.T) {
	for i, kind := range Table() {
		if kind.Name == "" || Text(kind.Example) == kind.Example {
			t.Errorf("row %d, %s: its example %q is not masked", i, kind.Name, kind.Example)
		}
		kept := table[i].find
		table[i].find = func(string, int) (int, int) { return 0, 0 }
		if Text(kind.Example) != kind.Example {
			t.Errorf("row %d, %s: another row masks its example too", i, kind.Name)
		}
		table[i].find = kept
	}
}

func TestNothingAllocated(t *testing.T) {
	text := strings.Repeat("git push origin main; ", 10)
	if n := testing.AllocsPerRun(100, func() { Text(text) }); n != 0 {
		t.Errorf("a text without a credential takes %v allocations", n)
	}
}

// TestCutCredentials: however a text is cut, at most seven characters of a key are left of it.
func TestCutCredentials(t *testing.T) {
	const secret = "0123456789ABCDEF"
	for _, before := range []string{"sk_", "AKIA", "ghp_", "Bearer ", "x://u:"} {
		whole := before + secret
		if before == "x://u:" {
			whole = before + "s" + secret
		}
		for cut := len(before) + 8; cut < len(whole); cut++ {
			if got := Text(whole[:cut]); strings.Contains(got, secret[:8]) {
				t.Errorf("%q shows %q", whole[:cut], got)
			}
		}
	}
}

func FuzzText(f *testing.F) {
	for _, kind := range Table() {
		f.Add(kind.Example)
		f.Add(kind.Example + " " + kind.Example)
	}
	f.Add("token==token=[masked]")
	f.Fuzz(func(t *testing.T, text string) {
		once := Text(text)
		if again := Text(once); again != once {
			t.Fatalf("%q is masked as %q, and that as %q", text, once, again)
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("git push origin main; ", 5)
	b.ReportAllocs()
	for b.Loop() {
		Text(text)
	}
}
