package decision

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bailiff/grammar"
	"bailiff/runtime/shims"
	"bailiff/vm/errcode"
)

const (
	shimPolicy = "version: 2.1.0\n\n## repository\nroots: /work\nblock_outside_writes: true\nrequire_shim: true\n\n" +
		"## tool_calls\nallowed: file_write\n\n## execution_limits\nmax_tool_calls_per_hour: 100\nrequire_shim: true\n"
	deployURL = "https://api.example.com/v1/warranty/deploy"
)

// fleet is somebody who signs activations.
type fleet struct {
	private ed25519.PrivateKey
	kid     string
}

func newFleet(t *testing.T, kid string) fleet {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return fleet{private, kid}
}

func (f fleet) jwk() string {
	return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q}`, f.kid, base64.RawURLEncoding.EncodeToString(f.private[32:]))
}

// token signs a header and claims.
func (f fleet) token(header, claims string) string {
	signed := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(f.private, []byte(signed)))
}

// activation signs claims that are right but for what edit changes; nil removes.
func (f fleet) activation(t *testing.T, by operator, policy string, edit map[string]any) string {
	t.Helper()
	fingerprint := sha256.Sum256([]byte(by.public))
	claims := map[string]any{
		"activation_schema": "svc-trusted-shim-activation/v1", "iss": "https://shims.example.com", "aud": deployURL, "sub": "fleet-1",
		"jti": rand.Text(), "iat": noon.Unix() - 10, "exp": noon.Unix() + 200, "shim_version": "1.4.2",
		"capabilities": []string{"profile.repository", "profile.git", "profile.execution_limits"},
		"policy_hash":  grammar.PolicyHash([]byte(policy)), "operator_key_fingerprint": hex.EncodeToString(fingerprint[:]),
	}
	for name, value := range edit {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return f.token(fmt.Sprintf(`{"alg":"EdDSA","kid":%q,"typ":"JWT"}`, f.kid), string(raw))
}

func shimsFile(trusted, other fleet) string {
	return fmt.Sprintf(`{"schema":"svc-trusted-shims/v1","issuers":[
		{"issuer":"https://shims.example.com","keys":[%s],"identities":["fleet-1"],"versions":["1.4.2"]},
		{"issuer":"https://other.example.com","keys":[%s],"identities":["fleet-2"],"versions":["9.0.0"]}]}`, trusted.jwk(), other.jwk())
}

// TestActivation is the fourteen ways to be refused, in their order: every token has what would be refused later, too.
func TestActivation(t *testing.T) {
	trusted, other, stranger := newFleet(t, "2026-11"), newFleet(t, "other"), newFleet(t, "2026-11")
	shims, err := shims.Parse([]byte(shimsFile(trusted, other)))
	if err != nil {
		t.Fatal(err)
	}
	h := newTown(t, func(c *Config) { c.Policies.Shims = shims })
	by := newOperator(t)
	secret := h.register()
	send := func(policy, token string) errcode.Code {
		_, fault := h.Deploy(context.Background(), h.key(secret), body(t, "warranty_md", by.sign(t, policy), "operator_public_key", by.public, "trusted_shim_attestation", token))
		return codeOf(fault)
	}
	edits := spoilt(t, func(edits map[string]any) errcode.Code {
		return send(shimPolicy, trusted.activation(t, by, shimPolicy, edits))
	})
	if got := send(shimPolicy, stranger.activation(t, by, shimPolicy, edits)); got != errcode.ShimUntrusted {
		t.Errorf("a stranger's: %s", got)
	}
	edits["jti"] = 7
	if got := send(shimPolicy, stranger.activation(t, by, shimPolicy, edits)); got != errcode.ShimMalformed {
		t.Errorf("a malformed one: %s", got)
	}
	if got := send(shimPolicy, ""); got != errcode.ShimAttestation {
		t.Errorf("none: %s", got)
	}
	for _, policy := range []string{strings.Replace(shimPolicy, "require_shim: true\n", "", 1), strings.Replace(shimPolicy, "require_shim: true\n", "require_shim: false\n", 2)} {
		if got := send(policy, "x"); got != errcode.ShimRequired {
			t.Errorf("without require_shim: %s", got)
		}
	}
	if key := h.key(secret); key.PolicyHash != [32]byte{} {
		t.Error("a refusal was followed by a deployment")
	}
	token := trusted.activation(t, by, shimPolicy, nil)
	if got := send(shimPolicy, token); got != "" {
		t.Fatal(got)
	}
	if got := send(shimPolicy, token); got != errcode.ShimReplayed {
		t.Errorf("again: %s", got)
	}
	if got := send(bashPolicy, "x"); got != "" {
		t.Errorf("where none is needed: %s", got)
	}
}

// spoilt takes the steps behind the signature, last to first: what a step spoils stays spoilt for those before it, which
// are answered. It returns all that is spoilt.
func spoilt(t *testing.T, send func(edits map[string]any) errcode.Code) map[string]any {
	t.Helper()
	edits := map[string]any{}
	for _, step := range []struct {
		name  string
		value any
		code  errcode.Code
	}{
		{"operator_key_fingerprint", strings.Repeat("0", 64), errcode.ShimBinding},
		{"policy_hash", strings.Repeat("0", 64), errcode.ShimBinding},
		{"capabilities", []string{"profile.repository"}, errcode.ShimCapability},
		{"jti", "tooshort", errcode.ShimNonce},
		{"exp", noon.Unix(), errcode.ShimExpired},
		{"shim_version", "1.4", errcode.ShimVersionUnknown},
		{"shim_version", "", errcode.ShimVersion},
		{"shim_version", nil, errcode.ShimVersion},
		{"sub", "fleet-2", errcode.ShimIdentity},
		{"aud", "https://api.example.com", errcode.ShimAudience},
		{"iss", "https://other.example.com", errcode.ShimIssuer},
	} {
		edits[step.name] = step.value
		if got := send(edits); got != step.code {
			t.Errorf("%s %v: %s, not %s", step.name, step.value, got, step.code)
		}
	}
	return edits
}

// TestActivationForms: tokens that are none, and one that is fine in another form.
func TestActivationForms(t *testing.T) {
	trusted := newFleet(t, "k")
	shims, err := shims.Parse([]byte(shimsFile(trusted, newFleet(t, "other"))))
	if err != nil {
		t.Fatal(err)
	}
	h := newTown(t, func(c *Config) { c.Policies.Shims = shims })
	by := newOperator(t)
	good := trusted.activation(t, by, shimPolicy, nil)
	part := strings.Split(good, ".")
	claims := string(must(base64.RawURLEncoding.DecodeString(part[1])))
	with := func(edit map[string]any) string { return trusted.activation(t, by, shimPolicy, edit) }
	const header = `{"alg":"EdDSA","kid":"k"}`
	tests := []struct {
		token string
		code  errcode.Code
	}{
		{"x", errcode.ShimMalformed}, {part[0] + "." + part[1], errcode.ShimMalformed}, {good + ".x", errcode.ShimMalformed}, {good + "\n", errcode.ShimMalformed},
		{strings.Repeat("a", 20_000), errcode.ShimMalformed},
		{trusted.token(`{"alg":"EdDSA"}`, claims), errcode.ShimMalformed},
		{trusted.token(`{"alg":"EdDSA","kid":"k","crit":["x"],"x":1}`, claims), errcode.ShimMalformed},
		{trusted.token(`{"alg":"none","kid":"k"}`, claims), errcode.ShimUntrusted},
		{trusted.token(`{"alg":"HS256","kid":"k"}`, claims), errcode.ShimUntrusted},
		{trusted.token(`{"alg":"EdDSA","kid":"unknown"}`, claims), errcode.ShimUntrusted},
		{trusted.token(header, claims+" "), ""},
		{trusted.token(header, claims+"{}"), errcode.ShimMalformed},
		{trusted.token(header, `[]`), errcode.ShimMalformed},
		{trusted.token(header, `null`), errcode.ShimMalformed},
		{trusted.token(header, strings.Replace(claims, `"iss"`, `"iss":"https://other.example.com","iss"`, 1)), errcode.ShimMalformed},
		{part[0] + "." + part[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)), errcode.ShimUntrusted},
		{with(map[string]any{"activation_schema": "svc-trusted-shim-activation/v2"}), errcode.ShimMalformed},
		{with(map[string]any{"iat": 1.5}), errcode.ShimMalformed}, {with(map[string]any{"capabilities": "profile.repository"}), errcode.ShimMalformed},
		{with(map[string]any{"aud": []string{deployURL}}), ""}, {with(map[string]any{"aud": []string{deployURL, "x"}}), errcode.ShimMalformed},
		{with(map[string]any{"exp": noon.Unix() + 291}), errcode.ShimExpired}, {with(map[string]any{"exp": noon.Unix() + 290}), ""},
		{with(map[string]any{"iat": noon.Unix()}), ""}, {with(map[string]any{"iat": noon.Unix() + 1}), errcode.ShimExpired},
		{with(map[string]any{"nbf": noon.Unix() + 1}), errcode.ShimExpired}, {with(map[string]any{"iat": noon.Unix() + 300, "exp": noon.Unix() + 300}), errcode.ShimExpired},
		{with(map[string]any{"iat": -1 << 62, "exp": 1 << 62}), errcode.ShimExpired},
		{with(map[string]any{"policy_hash": strings.Repeat("0", 64)}), errcode.ShimBinding},
		{with(map[string]any{"capabilities": []string{"profile.execution_limits"}}), errcode.ShimCapability},
		{with(map[string]any{"jti": strings.Repeat("ä", 16)}), ""}, {with(map[string]any{"jti": strings.Repeat("ä", 129)}), errcode.ShimNonce},
	}
	for _, name := range []string{"activation_schema", "iss", "aud", "sub", "jti", "iat", "exp", "capabilities", "policy_hash", "operator_key_fingerprint"} {
		tests = append(tests, struct {
			token string
			code  errcode.Code
		}{with(map[string]any{name: nil}), errcode.ShimMalformed})
	}
	for i, row := range tests {
		key := h.key(h.register())
		_, fault := h.Deploy(context.Background(), key, body(t, "warranty_md", by.sign(t, shimPolicy), "operator_public_key", by.public, "trusted_shim_attestation", row.token))
		if codeOf(fault) != row.code {
			t.Errorf("%d: %s (%v), not %s", i, codeOf(fault), fault, row.code)
		}
	}
}

// TestActivationUntrusted: nothing is trusted without being set up.
func TestActivationUntrusted(t *testing.T) {
	trusted := newFleet(t, "k")
	shims, err := shims.Parse([]byte(shimsFile(trusted, newFleet(t, "other"))))
	if err != nil {
		t.Fatal(err)
	}
	h, by := newTown(t, func(c *Config) { c.Policies.Shims, c.Policies.DeployURL = shims, "" }), newOperator(t)
	for _, wanted := range []errcode.Code{errcode.ShimAudience, errcode.ShimUntrusted} {
		token := trusted.activation(t, by, shimPolicy, map[string]any{"aud": ""})
		_, fault := h.Deploy(context.Background(), h.key(h.register()), body(t, "warranty_md", by.sign(t, shimPolicy), "operator_public_key", by.public, "trusted_shim_attestation", token))
		want(t, fault, wanted)
		h.Shims = nil
	}
}

// TestReplayAcrossKeys: an activation is used up for everybody, and 32 deployments at once use it once.
func TestReplayAcrossKeys(t *testing.T) {
	trusted := newFleet(t, "k")
	shims, err := shims.Parse([]byte(shimsFile(trusted, newFleet(t, "other"))))
	if err != nil {
		t.Fatal(err)
	}
	h := newTown(t, func(c *Config) { c.Policies.Shims = shims })
	by := newOperator(t)
	token := trusted.activation(t, by, shimPolicy, nil)
	results := make(chan errcode.Code)
	for range 32 {
		key := h.key(h.register())
		go func() {
			_, fault := h.Deploy(context.Background(), key, body(t, "warranty_md", by.sign(t, shimPolicy), "operator_public_key", by.public, "trusted_shim_attestation", token))
			results <- codeOf(fault)
		}()
	}
	counts := map[errcode.Code]int{}
	for range 32 {
		counts[<-results]++
	}
	if counts[""] != 1 || counts[errcode.ShimReplayed] != 31 {
		t.Error(counts)
	}
	h.pass(time.Hour)
	_, fault := h.Deploy(context.Background(), h.key(h.register()), body(t, "warranty_md", by.sign(t, shimPolicy), "operator_public_key", by.public, "trusted_shim_attestation", token))
	want(t, fault, errcode.ShimExpired)
}

// TestParseTrustedShims: the file is read strictly.
func TestParseTrustedShims(t *testing.T) {
	one, two := newFleet(t, "one"), newFleet(t, "two")
	good := shimsFile(one, two)
	private := strings.Replace(one.jwk(), `"x"`, fmt.Sprintf(`"d":%q,"x"`, base64.RawURLEncoding.EncodeToString(one.private[:32])), 1)
	for _, row := range []struct{ old, new, message string }{
		{`"schema"`, `"schema":"x","schema"`, "there twice"},
		{"shims/v1", "shims/v2", "schema is not"},
		{`"schema":"svc-trusted-shims/v1",`, "", "schema is missing"},
		{`"identities":["fleet-1"]`, `"identities":[]`, "issuers [0]: identities is empty"},
		{`"identities":["fleet-1"]`, `"identities":["fleet-1","fleet-1"]`, "twice"},
		{`"identities":["fleet-1"]`, `"identities":[""]`, "0 bytes"},
		{`"identities":["fleet-1"]`, `"identities":["fleet-1"],"x":1`, `"x" is not a field`},
		{`"versions":["9.0.0"]`, `"versions":"9.0.0"`, "issuers [1]: versions is not an array"},
		{"https://other.example.com", "https://shims.example.com", "listed twice"},
		{`"kid":"two"`, `"kid":"one"`, "another key's"},
		{`"kid":"two"`, `"kid":""`, "no kid"},
		{`"crv":"Ed25519"`, `"crv":"X25519"`, "can't be used"},
		{one.jwk(), private, "not an Ed25519 public key"},
		{good, "", "a JSON object is expected"},
	} {
		_, err := shims.Parse([]byte(strings.Replace(good, row.old, row.new, 1)))
		if err == nil || !strings.Contains(err.Error(), row.message) {
			t.Errorf("%s: %v, not %s", row.new, err, row.message)
		}
	}
	if _, err := shims.Parse([]byte(good)); err != nil {
		t.Error(err)
	}
}
