package httpd

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/compiler"
	"bailiff/compiler/frame"
	"bailiff/runtime/jcs"
	"bailiff/runtime/service"
	"bailiff/vm"
	"bailiff/vm/errcode"
)

// caching is how long others may keep a document. Of key sets that is decided (decisions, section 4).
const caching = "max-age=300"

// documents are those that do not change while the service runs.
type documents struct {
	wellKnownConformance, conformance, capabilities, openAPI, authzen []byte
}

func newDocuments(c *Config) (d documents, err error) {
	openAPI, err := newOpenAPI(c)
	if err != nil {
		return d, err
	}
	for _, one := range []struct {
		to   *[]byte
		what any
	}{
		{&d.wellKnownConformance, newConformance(c, "/.well-known/svc-pqc-keys.json")},
		{&d.conformance, newConformance(c, "/v1/pqc-keys")},
		{&d.capabilities, newCapabilities()},
		{&d.openAPI, openAPI},
		{&d.authzen, newAuthzenConfiguration(c)},
	} {
		if *one.to, err = plainJSON(one.what); err != nil {
			return d, fmt.Errorf("a document can't be written: %w", err)
		}
	}
	return d, nil
}

// conformance is the conformance descriptor: what is done here, who says so, and where others find what they verify with.
type conformance struct {
	SpecVersion    string   `json:"spec_version"`
	PolicyVersions []string `json:"policy_schema_versions_supported"`
	Level          string   `json:"conformance_level"`     // full, or core where there are no gateways
	Classes        []string `json:"classes"`               // the parts of the specification that are served
	Extended       []string `json:"extended_capabilities"` // what is beyond the specification
	Implementation string   `json:"implementation_name"`
	Implementer    string   `json:"implementer"`
	Contact        string   `json:"contact"` // of who runs the service; "" where it is not set
	Evaluated      string   `json:"evaluated_against"`
	SelfAsserted   bool     `json:"self_asserted"` // it is not certified by others
	AssertedAt     string   `json:"asserted_at"`   // RFC 3339, of the commit that was evaluated; of the start without one
	Algorithms     []string `json:"attestation_algorithms"`
	Issuer         string   `json:"issuer"`
	JWKS           string   `json:"jwks_uri"`
	PQCKeys        string   `json:"pqc_keys_uri"` // differs by the route of the descriptor (specification, "Routes")
	Capabilities   string   `json:"capabilities_uri"`
	OpenAPI        string   `json:"openapi_uri"`
}

func newConformance(c *Config, pqcKeys string) conformance {
	classes, level := []string{"authorization", "simulation", "holds", "policy-deployment", "webhooks", "events"}, "core"
	if c.Gateway != nil {
		classes, level = append(classes, "rpc-gateway", "bundler-gateway"), "full"
	}
	if c.Authority.Hosted {
		classes = append(classes, "key-registration")
	}
	asserted := c.CommitTime
	if asserted.IsZero() {
		asserted = c.Clock()
	}
	evaluated := "Intent Authorization Service Specification " + specVersion + ", line by line (docs/conformance.md)"
	if c.Commit != "" {
		evaluated += ", at commit " + c.Commit
	}
	return conformance{
		SpecVersion: specVersion, PolicyVersions: newCapabilities().Versions, Level: level, Classes: classes,
		Extended:       []string{"policy-format-2.4", "test-run-explanations", "event-checkpoints", "openapi"},
		Implementation: "Bailiff", Implementer: "the maintainers of Bailiff", Contact: c.Contact, Evaluated: evaluated,
		SelfAsserted: true, AssertedAt: asserted.UTC().Format(time.RFC3339),
		Algorithms: []string{"EdDSA", "ML-DSA-65"}, Issuer: c.Authority.Issuer,
		JWKS: c.PublicURL + "/.well-known/jwks.json", PQCKeys: c.PublicURL + pqcKeys,
		Capabilities: c.PublicURL + "/v1/capabilities", OpenAPI: c.PublicURL + "/openapi.json",
	}
}

// schemaVersion is the version of the form of the capability registry. It moves when a member changes its meaning.
const schemaVersion = "1.0.0"

// capabilities is the capability registry: what a policy may say here.
type capabilities struct {
	Schema   string    `json:"schema_version"`
	Engine   string    `json:"engine_version"` // of the machine that policies are compiled for
	Versions []string  `json:"supported_policy_versions"`
	Keys     []string  `json:"feature_keys"` // section.key, with a placeholder for what the policy's author chooses
	Features []feature `json:"features"`     // the same, with what else is to be known of them
}

type feature struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Since string `json:"since"` // the first version of the policy format that has it
}

// newCapabilities reads the compiler's tables, so that it can't promise what the compiler refuses.
func newCapabilities() capabilities {
	all := capabilities{Schema: schemaVersion, Engine: strconv.Itoa(vm.MachineVersion)}
	var versions []frame.FormatVersion
	for _, section := range compiler.Sections() {
		versions = append(versions, section.Since)
	}
	for _, key := range compiler.Schema() {
		versions = append(versions, key.Since)
		if !key.Reserved {
			name := key.Section + "." + key.Name
			all.Keys = append(all.Keys, name)
			all.Features = append(all.Features, feature{name, string(key.Type), key.Since.String()})
		}
	}
	slices.SortFunc(versions, func(a, b frame.FormatVersion) int {
		return slices.Compare([]int{a.Major, a.Minor}, []int{b.Major, b.Minor})
	})
	for _, version := range slices.Compact(versions) {
		name := version.String()
		if version.Major == 1 {
			name = "1.x" // all of them mean the same
		}
		all.Versions = append(all.Versions, name)
	}
	return all
}

func (s *Server) jwks(c *call) { s.publish(c, s.config.Authority.JWKS()) }

func (s *Server) pqcKeys(c *call) { s.publish(c, s.config.Authority.PQCKeys()) }

func (s *Server) wellKnownConformance(c *call) { s.publish(c, s.documents.wellKnownConformance) }

func (s *Server) conformance(c *call) { s.publish(c, s.documents.conformance) }

func (s *Server) capabilities(c *call) { s.publish(c, s.documents.capabilities) }

func (s *Server) openAPI(c *call) { s.publish(c, s.documents.openAPI) }

// publish answers with a document that caches may keep.
func (s *Server) publish(c *call, document []byte) {
	writeJSON(c.RequestCtx, fasthttp.StatusOK, document)
	c.Response.Header.Set("Cache-Control", caching)
}

// health answers for the process alone: a store in trouble shows in the decisions, which then are refused.
func (s *Server) health(c *call) {
	writeJSON(c.RequestCtx, fasthttp.StatusOK, healthy)
}

func (s *Server) metadata(c *call) {
	if s.config.Commit == "" {
		s.fail(c, &service.Failure{Code: errcode.MetadataUnavailable, Message: "this build is bound to no commit: it was made outside a repository, or from a tree with changes"})
		return
	}
	writeJSON(c.RequestCtx, fasthttp.StatusOK, append(jcs.AppendString([]byte(`{"serviceCommit":`), s.config.Commit), '}'))
	c.Response.Header.SetCanonical(cacheControl, noStore)
}

// The routes of the AuthZEN Authorization API 1.0.
const (
	evaluationPath    = "/access/v1/evaluation"
	evaluationsPath   = "/access/v1/evaluations"
	authzenConfigPath = "/.well-known/authzen-configuration"
)

// authzenConfiguration is what clients of AuthZEN find the endpoints by. There is no search: subjects and resources are not listed here.
type authzenConfiguration struct {
	Point       string `json:"policy_decision_point"`
	Evaluation  string `json:"access_evaluation_endpoint"`
	Evaluations string `json:"access_evaluations_endpoint"`
}

func (s *Server) authzenConfiguration(c *call) {
	if s.config.PublicURL == "" { // its clients hold the address in it to the one that they asked
		s.fail(c, &service.Failure{Code: errcode.NotFound, Message: "the service does not know its own address; set SVC_PUBLIC_URL to the https address by which clients reach it"})
		return
	}
	s.publish(c, s.documents.authzen)
}

func newAuthzenConfiguration(c *Config) authzenConfiguration {
	return authzenConfiguration{c.PublicURL, c.PublicURL + evaluationPath, c.PublicURL + evaluationsPath}
}
