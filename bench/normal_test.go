package bench

import (
	"errors"
	"strings"
	"testing"

	"bailiff/vm/amount"
	"bailiff/vm/form/command"
	"bailiff/vm/form/email"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/httpurl"
)

// What requests are brought into one form by, before any rule looks at them. Figures of what an agent writes every day
// and of what is as long as it gets.
const (
	plainURL     = "https://api.example.net/v1/orders?page=2&limit=50"
	foreignURL   = "https://B\u00fccher.example:8443/a/b?c=d#e"
	plainPath    = "/workspace/shop/internal/cart/cart.go"
	foreignPath  = "./src/../\u00dcbersicht/Stra\u00dfe.txt"
	shortCommand = "cd /workspace/shop && go test ./... && git status --short"
)

// longCommand is a script of about 4 KiB.
var longCommand = strings.Repeat("for f in $(ls /srv/app); do echo \"checking $f\" && grep -c 'WARN' \"$f\" | sort -n; done\n", 46)

var errUnreadable = errors.New("the input can't be read")

var normalBodies = []body{
	{"url/plain", normalizing(func() error { _, err := httpurl.Parse(plainURL); return err })},
	{"url/foreign", normalizing(func() error { _, err := httpurl.Parse(foreignURL); return err })},
	{"path/plain", normalizing(func() error { return readable(fspath.Clean(plainPath)) })},
	{"path/foreign", normalizing(func() error { return readable(fspath.Clean(foreignPath)) })},
	{"command/short", normalizing(func() error { _, err := command.Read(shortCommand); return err })},
	{"command/long", normalizing(func() error { _, err := command.Read(longCommand); return err })},
	{"recipient/bare", normalizing(func() error { return parsed(email.Parse("ann@example.com")) })},
	{"recipient/named", normalizing(func() error { return parsed(email.Parse("Ann Lee <Ann@Example.com>")) })},
	{"address", normalizing(func() error {
		_, err := evmaddr.Normalize("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
		return err
	})},
	{"amount", normalizing(func() error { _, err := amount.Parse("0.125", 18); return err })},
}

// BenchmarkNormal is the work of the leaves.
func BenchmarkNormal(b *testing.B) { run(b, normalBodies) }

func normalizing(step func() error) func(testing.TB) func() error {
	return func(testing.TB) func() error { return step }
}

func readable(_ string, suspicious bool) error { return parsed("", !suspicious) }

func parsed(_ string, ok bool) error {
	if !ok {
		return errUnreadable
	}
	return nil
}
