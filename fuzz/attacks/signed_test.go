package attacks

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bailiff/runtime/attest"
)

// stranger is a key that signs for no one.
var stranger = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// deployment returns the body of a deployment. A text without a signature block gets one. In a block $SIG is the operator's signature of
// what comes before it, $STRANGER another key's, and $EARLY the operator's of the text without its last line.
func deployment(text string) []byte {
	if !strings.Contains(text, "svc-sig") {
		text += "## signature\nsvc-sig: $SIG\n"
	}
	signed, _, _ := strings.Cut(text, "## signature\n")
	early := strings.TrimSuffix(signed, "\n")
	early = early[:strings.LastIndexByte(early, '\n')+1]
	text = strings.NewReplacer("$SIG", encode(ed25519.Sign(operator, []byte(signed))), "$STRANGER", encode(ed25519.Sign(stranger, []byte(signed))),
		"$EARLY", encode(ed25519.Sign(operator, []byte(early)))).Replace(text)
	body, err := json.Marshal(map[string]string{"warranty_md": text, "operator_public_key": encode(operator.Public().(ed25519.PublicKey))})
	if err != nil {
		panic(err)
	}
	return body
}

// changes are the ways to change an attestation.
var changes = map[string]func(token string) (string, error){
	"none":                func(token string) (string, error) { return token, nil },
	"alg none":            header(`{"alg":"none"}`, ""),
	"alg None":            header(`{"alg":"None","kid":"$KID"}`, ""),
	"alg HS256":           header(`{"alg":"HS256","kid":"$KID"}`, "same"),
	"alg Ed25519":         header(`{"alg":"Ed25519","kid":"$KID"}`, "same"),
	"alg eddsa":           header(`{"alg":"eddsa","kid":"$KID"}`, "same"),
	"alg ES256":           header(`{"alg":"ES256","kid":"$KID"}`, "same"),
	"no kid":              header(`{"alg":"EdDSA"}`, "same"),
	"another kid":         header(`{"alg":"EdDSA","kid":"x"}`, "same"),
	"kid is a path":       header(`{"alg":"EdDSA","kid":"../../dev/null"}`, "same"),
	"kid twice":           header(`{"alg":"EdDSA","kid":"$KID","kid":"$KID"}`, "same"),
	"typ":                 header(`{"alg":"EdDSA","kid":"$KID","typ":"JWT"}`, "same"),
	"crit":                header(`{"alg":"EdDSA","crit":["b64"],"b64":false,"kid":"$KID"}`, "same"),
	"jwk":                 header(`{"alg":"EdDSA","jwk":{"kty":"OKP","crv":"Ed25519","x":"$STRANGER"},"kid":"$KID"}`, "stranger"),
	"jku":                 header(`{"alg":"EdDSA","jku":"https://evil.example/jwks.json","kid":"$KID"}`, "stranger"),
	"x5u":                 header(`{"alg":"EdDSA","kid":"$KID","x5u":"https://evil.example/"}`, "same"),
	"header order":        header(`{"kid":"$KID","alg":"EdDSA"}`, "same"),
	"header blank":        header(`{"alg":"EdDSA", "kid":"$KID"}`, "same"),
	"header escape":       header(`{"\u0061lg":"EdDSA","kid":"$KID"}`, "same"),
	"empty header":        header(`{}`, "same"),
	"header is null":      header(`null`, "same"),
	"header is a list":    header(`[]`, "same"),
	"stranger":            header(`{"alg":"EdDSA","kid":"$KID"}`, "stranger"),
	"amount":              claim(`"amountBase":"100000000000000000"`, `"amountBase":"999000000000000000"`),
	"target":              claim(`0x00000000000000000000000000000000000000aa`, `0x00000000000000000000000000000000000000ab`),
	"decision":            claim(`"decision":"ALLOWED"`, `"decision":"DENIED"`),
	"issuer":              claim(`"iss":"svc-core"`, `"iss":"svc-c0re"`),
	"audience":            claim(`"aud":"svc"`, `"aud":"all"`),
	"policy":              claim(`"policyHash":"`, `"policyHash":"0`),
	"mode":                claim(`"kind":"evm"`, `"kind":"evm","mode":"OBSERVE"`),
	"blank in the claims": claim(`{"aud"`, `{ "aud"`),
	"member twice":        claim(`{"aud":"svc"`, `{"aud":"svc","aud":"svc"`),
	"no post-quantum":     claim(`"pqc":`, `"pqx":`),
	"post-quantum alg":    claim(`"ML-DSA-65"`, `"ML-DSA-44"`),
	"post-quantum ctx":    claim(`svc-pqc-attestation-v1`, `svc-pqc-response-policy-v1`),
	"signature malleable": malleable,
	"signature cut":       func(token string) (string, error) { return token[:len(token)-2], nil },
	"signature longer":    func(token string) (string, error) { return token + "AA", nil },
	"signature empty":     func(token string) (string, error) { return token[:strings.LastIndexByte(token, '.')+1], nil },
	"four parts":          func(token string) (string, error) { return token + ".AA", nil },
	"two parts":           func(token string) (string, error) { return token[:strings.LastIndexByte(token, '.')], nil },
	"padded":              func(token string) (string, error) { return token + "==", nil },
	"blank behind":        func(token string) (string, error) { return strings.Replace(token, ".", ". ", 1), nil },
	"not canonical":       notCanonical,
	"standard alphabet":   func(token string) (string, error) { return strings.NewReplacer("-", "+", "_", "/").Replace(token), nil },
	"too long":            func(token string) (string, error) { return token + strings.Repeat("A", attest.MaxTokenBytes), nil },
	"empty parts":         func(string) (string, error) { return "..", nil },
	"json serialization": func(token string) (string, error) {
		parts := strings.Split(token, ".")
		return fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, parts[0], parts[1], parts[2]), nil
	},
}

// header replaces the header. The signature stays, is empty, or is a stranger's.
func header(text, signature string) func(string) (string, error) {
	return func(token string) (string, error) {
		parts := strings.Split(token, ".")
		signs, err := signer()
		if err != nil {
			return "", err
		}
		text := strings.NewReplacer("$KID", signs.KeyID(), "$STRANGER", encode(stranger.Public().(ed25519.PublicKey))).Replace(text)
		parts[0] = encode([]byte(text))
		switch signature {
		case "":
			parts[2] = ""
		case "stranger":
			parts[2] = encode(ed25519.Sign(stranger, []byte(parts[0]+"."+parts[1])))
		}
		return strings.Join(parts, "."), nil
	}
}

// claim changes the claims under the old signatures.
func claim(old, replaced string) func(string) (string, error) {
	return func(token string) (string, error) {
		parts := strings.Split(token, ".")
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			return "", err
		}
		if strings.Count(string(payload), old) == 0 {
			return "", fmt.Errorf("the claims have no %s: %s", old, payload)
		}
		parts[1] = encode([]byte(strings.Replace(string(payload), old, replaced, 1)))
		return strings.Join(parts, "."), nil
	}
}

// malleable adds the order of the group to the signature's scalar, which lenient verifiers take.
func malleable(token string) (string, error) {
	at := strings.LastIndexByte(token, '.') + 1
	signature, err := base64.RawURLEncoding.DecodeString(token[at:])
	if err != nil {
		return "", err
	}
	order := []byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 31: 0x10}
	carry := 0
	for i, b := range order {
		sum := int(signature[32+i]) + int(b) + carry
		signature[32+i], carry = byte(sum), sum>>8
	}
	return token[:at] + encode(signature), nil
}

// notCanonical sets bits of the last character that decoding leaves out.
func notCanonical(token string) (string, error) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	if last < 0 || last%16 != 0 {
		return "", errors.New("the signature's last character is not canonical")
	}
	return token[:len(token)-1] + alphabet[last+1:last+2], nil
}

// A heldIntent is a hold and what its resolution signs.
type heldIntent struct{ id, intentHash, policyHash string }

// resolution is a body for a hold, signed by a key over a text.
func resolution(h heldIntent, decision string, at int64, key ed25519.PrivateKey, text []byte) string {
	if text == nil {
		text = attest.ResolutionText(h.id, h.intentHash, h.policyHash, decision, at)
	}
	return fmt.Sprintf(`{"decision":%q,"resolved_at":%d,"operator_signature":%q}`, decision, at, encode(ed25519.Sign(key, text)))
}

// resolutions are the bodies that try to resolve a hold.
var resolutions = map[string]func(h heldIntent) string{
	"signed":       func(h heldIntent) string { return resolution(h, "ALLOWED", now.Unix(), operator, nil) },
	"denied":       func(h heldIntent) string { return resolution(h, "DENIED", now.Unix(), operator, nil) },
	"in time":      func(h heldIntent) string { return resolution(h, "ALLOWED", now.Unix()-300, operator, nil) },
	"a stranger":   func(h heldIntent) string { return resolution(h, "ALLOWED", now.Unix(), stranger, nil) },
	"too old":      func(h heldIntent) string { return resolution(h, "ALLOWED", now.Unix()-301, operator, nil) },
	"too new":      func(h heldIntent) string { return resolution(h, "ALLOWED", now.Unix()+301, operator, nil) },
	"another time": func(h heldIntent) string { return other(h, h.id, h.intentHash, h.policyHash, "ALLOWED", now.Unix()-1) },
	"another hold": func(h heldIntent) string {
		return other(h, strings.Repeat("0", 36), h.intentHash, h.policyHash, "ALLOWED", now.Unix())
	},
	"another intent": func(h heldIntent) string {
		return other(h, h.id, strings.Repeat("0", 64), h.policyHash, "ALLOWED", now.Unix())
	},
	"another policy": func(h heldIntent) string {
		return other(h, h.id, h.intentHash, strings.Repeat("0", 64), "ALLOWED", now.Unix())
	},
	"a denial": func(h heldIntent) string { return other(h, h.id, h.intentHash, h.policyHash, "DENIED", now.Unix()) },
	"a line end": func(h heldIntent) string {
		return resolution(h, "ALLOWED", now.Unix(), operator, append(attest.ResolutionText(h.id, h.intentHash, h.policyHash, "ALLOWED", now.Unix()), '\n'))
	},
	"an empty text": func(h heldIntent) string { return resolution(h, "ALLOWED", now.Unix(), operator, []byte{}) },
	"lower case":    func(h heldIntent) string { return resolution(h, "allowed", now.Unix(), operator, nil) },
	"pending":       func(h heldIntent) string { return resolution(h, "PENDING", now.Unix(), operator, nil) },
	"no signature":  func(heldIntent) string { return fmt.Sprintf(`{"decision":"ALLOWED","resolved_at":%d}`, now.Unix()) },
	"null signature": func(heldIntent) string {
		return fmt.Sprintf(`{"decision":"ALLOWED","resolved_at":%d,"operator_signature":null}`, now.Unix())
	},
	"empty signature": func(heldIntent) string {
		return fmt.Sprintf(`{"decision":"ALLOWED","resolved_at":%d,"operator_signature":""}`, now.Unix())
	},
	"zero signature": func(heldIntent) string {
		return fmt.Sprintf(`{"decision":"ALLOWED","resolved_at":%d,"operator_signature":%q}`, now.Unix(), encode(make([]byte, 64)))
	},
	"padded signature": func(h heldIntent) string {
		return strings.Replace(resolution(h, "ALLOWED", now.Unix(), operator, nil), `"}`, `=="}`, 1)
	},
	"decision twice": func(h heldIntent) string {
		return strings.Replace(resolution(h, "DENIED", now.Unix(), operator, nil), "{", `{"decision":"ALLOWED",`, 1)
	},
	"time as a text": func(h heldIntent) string {
		return strings.Replace(resolution(h, "ALLOWED", now.Unix(), operator, nil), fmt.Sprint(now.Unix()), fmt.Sprintf("%q", fmt.Sprint(now.Unix())), 1)
	},
	"another member": func(h heldIntent) string {
		return strings.Replace(resolution(h, "ALLOWED", now.Unix(), operator, nil), "{", `{"approvedBy":"me",`, 1)
	},
	"an API key alone": func(heldIntent) string { return `{"decision":"ALLOWED"}` },
}

// other is a body that says ALLOWED now, with the operator's signature of something else.
func other(h heldIntent, id, intentHash, policyHash, decision string, at int64) string {
	return resolution(h, "ALLOWED", now.Unix(), operator, attest.ResolutionText(id, intentHash, policyHash, decision, at))
}

// resolved opens a hold and tries to resolve it in the way that the value names.
func resolved(t *testing.T, g *group) (inside, outside level) {
	w := started(t, g.Policy)
	open := func() (h heldIntent, key string, err error) {
		if key, err = w.newKey(false); err != nil {
			return h, "", err
		}
		_, answer, err := w.authorize(key, request(g.Intent, "", ""))
		if err != nil || answer.HoldID == "" {
			return h, "", fmt.Errorf("no hold was opened: %w", err)
		}
		h.id = answer.HoldID
		h.intentHash, h.policyHash, err = w.holdOf(key, h.id)
		return h, key, err
	}
	return func(a *attack) (string, error) {
			h, text, err := open()
			if err != nil {
				return "", err
			}
			key, fault := w.decider.Authenticate([]byte(text), 0)
			if fault != nil {
				return "", fault
			}
			_, fault = w.decider.ResolveHold(context.Background(), key, h.id, []byte(resolutions[a.value](h)))
			return faultText(fault), nil
		}, func(a *attack) (string, error) {
			h, key, err := open()
			if err != nil {
				return "", err
			}
			if resolutions[a.value] == nil {
				return "", fmt.Errorf("there is no resolution %q", a.value)
			}
			got, err := w.post("/v1/holds/"+h.id+"/resolution", key, []byte(resolutions[a.value](h)))
			if err != nil {
				return "", err
			}
			return got.short(), nil
		}
}
