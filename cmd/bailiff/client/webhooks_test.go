package client

import (
	"errors"
	"strings"
	"testing"

	"bailiff/vm/errcode"
)

// TestAboutPrivate: the refusal of an address that a service for development takes says which setting takes it, and no
// other error does.
func TestAboutPrivate(t *testing.T) {
	url := &refusal{HTTP: 400, Code: string(errcode.WebhookURL), Message: "url: it must start with https://"}
	for _, x := range []struct {
		err    error
		target string
		hints  bool
	}{
		{url, "http://hooks.example/", true}, {url, "https://127.0.0.1:9000/", true}, {url, "https://localhost/", true},
		{url, "https://hooks.example/#a", false}, {url, "ftp://hooks.example", false}, {url, "http://%", false},
		{&refusal{HTTP: 403, Code: string(errcode.TierInsufficient)}, "http://hooks.example/", false},
		{errors.New("the service can't be reached"), "http://hooks.example/", false}, {nil, "http://hooks.example/", false},
	} {
		got := aboutPrivate(x.err, x.target)
		if (got == nil) != (x.err == nil) || got != nil && strings.Contains(got.Error(), "SVC_WEBHOOK_ALLOW_PRIVATE=true") != x.hints {
			t.Errorf("%s: %v became %v", x.target, x.err, got)
		}
		if got != nil && !strings.Contains(got.Error(), x.err.Error()) {
			t.Errorf("%s: %v lacks %v", x.target, got, x.err)
		}
	}
}
