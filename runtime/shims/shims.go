// Package shims reads the list of trusted shims, and verifies the activation that comes with a deployment: a shim's signed consent
// to enforce the resource profiles of a policy.
package shims

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"bailiff/runtime/attest"
	"bailiff/runtime/strictjson"
)

// shimsSchema is the member schema of the file of trusted shims.
const shimsSchema = "svc-trusted-shims/v1"

// Bounds of the file of trusted shims.
const (
	maxShimName = 1024 // bytes of an issuer, an identity or a version
)

// Trusted says whose activations count: what the file that SVC_TRUSTED_SHIMS names holds. It is one JSON object
//
//	{
//	  "schema": "svc-trusted-shims/v1",
//	  "issuers": [{
//	    "issuer": "https://shims.example.com",
//	    "keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "2026-11", "x": "…"}],
//	    "identities": ["build-fleet-1"],
//	    "versions": ["1.4.2", "1.4.3"]
//	  }]
//	}
//
// Keys, identities and versions count for their own issuer only. All are compared exactly, and none may be empty; a kid
// names one key in the whole file.
type Trusted struct {
	issuers []*shimIssuer
	keys    map[string]shimKey // by kid
}

type shimIssuer struct {
	name       string
	identities []string
	versions   []string
}

type shimKey struct {
	public ed25519.PublicKey
	issuer *shimIssuer
}

// Parse reads the file of trusted shims. Unknown and repeated members, and whatever else does not belong, are
// errors.
func Parse(file []byte) (*Trusted, error) {
	shims := &Trusted{keys: map[string]shimKey{}}
	var schema string
	problem := strictjson.Document("it", file, []strictjson.Member{
		strictjson.Text("schema", true, maxShimName, &schema),
		strictjson.List("issuers", true, shims.readIssuer),
	})
	if problem == "" && schema != shimsSchema {
		problem = "schema is not " + shimsSchema
	}
	if problem != "" {
		return nil, fmt.Errorf("trusted shims: %s", problem)
	}
	return shims, nil
}

func (s *Trusted) readIssuer(value json.RawMessage) (problem string) {
	issuer := &shimIssuer{}
	problem = strictjson.Object(value, []strictjson.Member{
		strictjson.Text("issuer", true, maxShimName, &issuer.name),
		strictjson.List("keys", true, func(value json.RawMessage) string { return s.readKey(value, issuer) }),
		names("identities", &issuer.identities),
		names("versions", &issuer.versions),
	})
	if problem == "" && slices.ContainsFunc(s.issuers, func(other *shimIssuer) bool { return other.name == issuer.name }) {
		problem = "the issuer is listed twice"
	}
	s.issuers = append(s.issuers, issuer)
	return problem
}

func (s *Trusted) readKey(value json.RawMessage, issuer *shimIssuer) (problem string) {
	kid, public, err := attest.ParseActivationKey(value)
	if _, taken := s.keys[kid]; err == nil && taken {
		err = errors.New("its kid is another key's, too")
	}
	if err != nil {
		return "the key can't be used: " + err.Error()
	}
	s.keys[kid] = shimKey{public, issuer}
	return ""
}

// names reads an array of distinct texts.
func names(name string, into *[]string) strictjson.Member {
	return strictjson.List(name, true, func(value json.RawMessage) string {
		content, problem := strictjson.String(value)
		switch {
		case problem != "":
			return problem
		case content == "" || len(content) > maxShimName:
			return fmt.Sprintf("has %d bytes; 1 to %d are accepted", len(content), maxShimName)
		case slices.Contains(*into, content):
			return "is there twice"
		}
		*into = append(*into, content)
		return ""
	})
}
