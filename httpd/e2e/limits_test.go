package e2e

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// limited checks the fields of an answer of 429.
func limited(t *testing.T, what string, got reply, name string, most int) {
	t.Helper()
	got.wants(t, what, "429 SVC_RATE_LIMITED")
	if after, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || after < 1 || after > most {
		t.Errorf("%s: Retry-After %q", what, got.header.Get("Retry-After"))
	}
	fields := strings.Join(got.header.Values("RateLimit"), ",")
	if !regexp.MustCompile(`"` + name + `";r=0;t=[1-9][0-9]*`).MatchString(fields) {
		t.Errorf("%s: RateLimit %q", what, fields)
	}
}

// hasPolicy checks that an answer says which limit there is.
func hasPolicy(t *testing.T, got reply, policy string) {
	t.Helper()
	if fields := strings.Join(got.header.Values("RateLimit-Policy"), ", "); !strings.Contains(fields, policy) {
		t.Errorf("RateLimit-Policy %q lacks %s", fields, policy)
	}
}

// TestRegisterLimit registers five keys, and no sixth; an attempt that is no good counts too.
func TestRegisterLimit(t *testing.T) {
	t.Parallel()
	at, n := newHosted(t, "SVC_RATE_LIMIT_REGISTER=").start().instances(), 0
	next := func() *running { // over several slots, each instance in turn
		n++
		return at[n%len(at)]
	}
	for range 4 {
		next().register()
	}
	next().send("POST", "/v1/keys/register", "", `{"email":"nobody"}`).wants(t, "the fifth", "400 SVC_VALIDATION_ERROR_SCHEMA")
	for range at {
		got := next().send("POST", "/v1/keys/register", "", `{"email":"agent@example.com"}`)
		limited(t, "one more", got, "register", 3600)
		hasPolicy(t, got, `"register";q=5;w=3600`)
	}
}

// TestKeyLimit uses up a key's minute: authorize and test-run count together, what is invalid does not, and another key
// has its own.
func TestKeyLimit(t *testing.T) {
	t.Parallel()
	service := newHosted(t, "SVC_RATE_LIMIT_KEY=", "SVC_RATE_LIMIT_IP=").start()
	key, other, mine := service.register().APIKey, service.register().APIKey, newOperator(t)
	service.deploy(key, mine, mailPolicy)
	for i := range 179 {
		path := "/v1/authorize"
		if i%2 == 1 {
			path += "/test-run"
		}
		service.send("POST", path, key, listing).wants(t, "within the limit", "200")
	}
	service.send("POST", "/v1/authorize", key, "{}").wants(t, "what is invalid", "400 SVC_VALIDATION_ERROR_SCHEMA")
	last := service.send("POST", "/v1/authorize", key, removing)
	last.wants(t, "the 180th", "403 SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	hasPolicy(t, last, `"key";q=180;w=60`)
	hasPolicy(t, last, `"ip";q=1500;w=60`)
	limited(t, "the 181st", service.send("POST", "/v1/authorize", key, listing), "key", 60)
	limited(t, "the 182nd", service.send("POST", "/v1/authorize/test-run", key, listing), "key", 60)
	service.send("POST", "/v1/authorize", key, "{}").wants(t, "what is invalid, beyond the limit", "400 SVC_VALIDATION_ERROR_SCHEMA")
	service.send("POST", "/v1/authorize", other, listing).wants(t, "another key", "409 SVC_NO_POLICY_DEPLOYED")
}

// TestSourceLimit uses up a source's minute: it is refused before its key is looked at, whatever that is.
func TestSourceLimit(t *testing.T) {
	t.Parallel()
	service := newHosted(t, "SVC_RATE_LIMIT_IP=20/60s", "SVC_TRUSTED_PROXIES=127.0.0.0/8").start()
	const one = "X-Forwarded-For: 192.0.2.1"
	for range 20 {
		service.send("POST", "/v1/authorize", "sk_svc_nobody", listing, one).wants(t, "within the limit", "401 SVC_API_KEY_INVALID")
	}
	limited(t, "with a bad key", service.send("POST", "/v1/authorize", "sk_svc_nobody", listing, one), "ip", 60)
	limited(t, "without a key", service.send("POST", "/v1/authorize", "", listing, "X-Forwarded-For: 203.0.113.9, 192.0.2.1"), "ip", 60)
	service.send("POST", "/v1/authorize", "sk_svc_nobody", listing, "X-Forwarded-For: 192.0.2.2").wants(t, "another source", "401 SVC_API_KEY_INVALID")
	service.send("GET", "/healthz", "", "", one).wants(t, "a document", "200")
}

// TestHoldLimit reads holds thirty times a minute.
func TestHoldLimit(t *testing.T) {
	t.Parallel()
	service := newHosted(t, "SVC_RATE_LIMIT_HOLDS=").start()
	key, mine := service.register().APIKey, newOperator(t)
	service.deploy(key, mine, mailPolicy)
	path := "/v1/holds/" + service.decides(t, "a mail", key, mailing, pendingMail).HoldID
	for range 30 {
		service.send("GET", path, key, "").wants(t, "within the limit", "200")
	}
	limited(t, "the 31st", service.send("GET", path, key, ""), "holds", 60)
}

// TestQuota uses up the month of the plan developer from 16 clients at once, and changes the plan.
func TestQuota(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	service := s.start()
	me, mine := service.register(), newOperator(t)
	service.deploy(me.APIKey, mine, mailPolicy)
	var allowed, refused atomic.Int64
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 65 {
				switch got, err := service.try("POST", "/v1/authorize", me.APIKey, listing); {
				case err == nil && got.code() == "200":
					allowed.Add(1)
				case err == nil && got.code() == "429 SVC_QUOTA_EXCEEDED":
					refused.Add(1)
				default:
					t.Errorf("%v %s", err, got.body)
				}
			}
		})
	}
	wait.Wait()
	if allowed.Load() != 1000 || refused.Load() != 40 {
		t.Errorf("%d allowed and %d refused, of 1,000 and 40", allowed.Load(), refused.Load())
	}
	service.decides(t, "a denial needs no quota", me.APIKey, removing, "DENIED SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	service.decides(t, "a hold needs no quota", me.APIKey, mailing, pendingMail)
	service.send("POST", "/v1/authorize/test-run", me.APIKey, removing).wants(t, "a test-run", "200 SVC_POLICY_VIOLATION_BLOCKED_COMMAND")
	s.must("keys", "set-plan", me.KeyID, "pro")
	service.decides(t, "with another plan", me.APIKey, listing, "ALLOWED")
	if table := s.must("usage", "--format", "csv"); !strings.Contains(table, me.KeyID+",agent@example.com,production,growth,") || !strings.Contains(table, ",1001,10000,0,49.000,0.000,49.000") {
		t.Errorf("usage: %s", table)
	}
}
