package httpd

import (
	"bytes"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/decision"
	"bailiff/runtime/envoy"
	"bailiff/runtime/ledger"
	"bailiff/runtime/policies"
)

// Bodies' bounds in bytes (decisions, section 3, where they are not the smallest).
const (
	authorizeBodyBytes = decision.MaxBody
	deployBodyBytes    = 400_000
	gatewayBodyBytes   = 1 << 20
	smallBodyBytes     = 16_000
	// evaluationsBodyBytes bounds the body of a request with many evaluations, each of which may have much less than that.
	evaluationsBodyBytes = 400_000
	pinsBodyBytes        = policies.MaxPinsBody
	hookBodyBytes        = 400_000 // an event has the contents of files, which the request made of it has not
	// otherBodyBytes bounds a body that is not used.
	otherBodyBytes = 400_000
)

// A route is one row of the table of routes: what routing, limits and the OpenAPI document know of it.
type route struct {
	path, method string // path may have one segment {name}
	id           string // operationId of the document
	summary      string
	access       access
	limit        limitKind
	bodyBytes    int    // the largest body; 0 where none is looked at
	request      string // the schema of the body; empty where there is none
	answers      []answer
	query        []string // names of the document's parameters
	always       bool     // every answer has the status 200, because its reader reads no status
	handle       func(*Server, *call)
}

// access says who may use a route.
type access struct {
	keyed bool          // an API key is needed
	scope ledger.Scopes // that the key needs; none where the handler looks for itself
}

var (
	public     = access{}
	anyKey     = access{keyed: true}
	authorizes = access{true, ledger.ScopeAuthorize}
	deploys    = access{true, ledger.ScopeDeploy}
	webhooks   = access{true, ledger.ScopeWebhooks}
)

// routes is the table of the API's routes (specification, "Routes").
var routes = []route{
	{
		path: authorizePath, method: "POST", id: "authorize", summary: "Decide on an intent.",
		access: authorizes, limit: decisionLimit, bodyBytes: authorizeBodyBytes, request: "Intent", query: []string{explainParameter},
		answers: decided(answer{202, "Decision"}, answer{403, "DecisionOrRefusal"}),
		handle:  (*Server).authorize,
	},
	{
		path: testRunPath, method: "POST", id: "testRun", summary: "Decide on an intent without any effect.",
		access: authorizes, limit: decisionLimit, bodyBytes: authorizeBodyBytes, request: "Intent", query: []string{explainParameter},
		answers: decided(), handle: (*Server).testRun,
	},
	{
		path: evaluationPath, method: "POST", id: "evaluate", summary: "Decide on an access request of AuthZEN.",
		access: authorizes, limit: decisionLimit, bodyBytes: authorizeBodyBytes, request: "Evaluation",
		answers: []answer{{200, "Evaluated"}}, handle: (*Server).evaluation,
	},
	{
		path: evaluationsPath, method: "POST", id: "evaluateAll", summary: "Decide on several access requests of AuthZEN.",
		access: authorizes, limit: decisionLimit, bodyBytes: evaluationsBodyBytes, request: "Evaluations",
		answers: []answer{{200, "EvaluatedAll"}}, handle: (*Server).evaluations,
	},
	{
		path: claudeHookPath, method: "POST", id: "claudeCodeHook", summary: "Answer an event of Claude Code before it calls a tool.",
		access: authorizes, limit: decisionLimit, bodyBytes: hookBodyBytes, request: "HookEvent", answers: []answer{{200, "HookAnswer"}},
		always: true, handle: (*Server).claudeHook,
	},
	{
		path: responsePolicyPath, method: "GET", id: "responsePolicy", summary: "Read the response rules of the policy in force, signed for the API key.",
		access: authorizes, limit: manageLimit,
		answers: []answer{{200, "ResponsePolicy"}, {409, "Error"}, {503, "Error"}}, handle: (*Server).responsePolicy,
	},
	{
		path: pinsPath, method: "GET", id: "pins", summary: "Read which tools of an MCP server are pinned.",
		access: authorizes, limit: manageLimit, query: []string{"server"},
		answers: []answer{{200, "Pins"}, {400, "Error"}, {503, "Error"}}, handle: (*Server).pins,
	},
	{
		path: pinsPath, method: "POST", id: "meetTools", summary: "Pin the tools of an MCP server that are not pinned, and note which of the others have changed.",
		access: authorizes, limit: manageLimit, bodyBytes: pinsBodyBytes, request: "ListedTools",
		answers: []answer{{200, "Pins"}, {409, "Error"}, {503, "Error"}}, handle: (*Server).meetTools,
	},
	{
		path: "/v1/holds/{holdId}", method: "GET", id: "hold", summary: "Read a hold, and wait until it is resolved.",
		access: authorizes, limit: holdLimit, query: []string{"wait"},
		answers: []answer{{200, "Hold"}, {400, "Error"}, {404, "Error"}, {503, "Error"}}, handle: (*Server).hold,
	},
	{
		path: "/v1/holds/{holdId}/resolution", method: "POST", id: "resolveHold", summary: "Resolve a hold, signed by the operator.",
		access: authorizes, limit: holdLimit, bodyBytes: smallBodyBytes, request: "Resolution",
		answers: []answer{{200, "Hold"}, {403, "Error"}, {404, "Error"}, {409, "Error"}, {503, "Error"}}, handle: (*Server).resolveHold,
	},
	{
		path: "/v1/keys/register", method: "POST", id: "register", summary: "Register an API key.",
		access: public, limit: registerLimit, bodyBytes: smallBodyBytes, request: "Registration",
		answers: []answer{{201, "Registered"}, {403, "Error"}, {503, "Error"}}, handle: (*Server).register,
	},
	{
		path: "/v1/operator/halt", method: "POST", id: "halt", summary: "Freeze or thaw the service, or suspend or resume an API key, signed by the service's operator.",
		access: public, limit: operatorLimit, bodyBytes: smallBodyBytes, request: "HaltStatement",
		answers: []answer{{200, "HaltState"}, {403, "Error"}, {404, "Error"}, {409, "Error"}, {503, "Error"}}, handle: (*Server).halt,
	},
	{
		path: "/v1/operator/rotation", method: "POST", id: "rotateOperator", summary: "Replace the key of the service's operator, signed by the present one.",
		access: public, limit: operatorLimit, bodyBytes: smallBodyBytes, request: "RotationStatement",
		answers: []answer{{200, "Operator"}, {403, "Error"}, {409, "Error"}, {503, "Error"}}, handle: (*Server).rotateOperator,
	},
	{
		path: "/v1/warranty/deploy", method: "POST", id: "deploy", summary: "Deploy a signed policy.",
		access: deploys, limit: manageLimit, bodyBytes: deployBodyBytes, request: "Deployment",
		answers: []answer{{200, "Deployed"}, {400, "InvalidPolicy"}, {403, "Error"}, {409, "Error"}, {503, "Error"}}, handle: (*Server).deploy,
	},
	{
		path: "/v1/webhooks", method: "GET", id: "webhooks", summary: "List the webhooks.",
		access: webhooks, limit: manageLimit, answers: []answer{{200, "Webhooks"}, {503, "Error"}}, handle: (*Server).listWebhooks,
	},
	{
		path: "/v1/webhooks", method: "POST", id: "createWebhook", summary: "Register a webhook.",
		access: anyKey, limit: manageLimit, bodyBytes: smallBodyBytes, request: "NewWebhook", // the plan comes before the scope
		answers: []answer{{201, "CreatedWebhook"}, {403, "Error"}, {409, "Error"}, {503, "Error"}}, handle: (*Server).createWebhook,
	},
	{
		path: "/v1/webhooks/{id}", method: "DELETE", id: "removeWebhook", summary: "Remove a webhook.",
		access: webhooks, limit: manageLimit, answers: []answer{{204, ""}, {404, "Error"}, {503, "Error"}}, handle: (*Server).removeWebhook,
	},
	{
		path: "/v1/webhooks/{id}/enable", method: "POST", id: "enableWebhook", summary: "Enable a webhook that was disabled.",
		access: webhooks, limit: manageLimit, answers: []answer{{204, ""}, {404, "Error"}, {503, "Error"}}, handle: (*Server).enableWebhook,
	},
	{
		path: "/v1/events", method: "GET", id: "events", summary: "Read the key's events.",
		access: authorizes, limit: manageLimit, query: eventParameterNames,
		answers: []answer{{200, "Events"}, {400, "Error"}, {503, "Error"}}, handle: (*Server).events,
	},
	{
		path: "/v1/limits", method: "GET", id: "limits", summary: "Read use and rest of the limits of the key's policy.",
		access: authorizes, limit: manageLimit, answers: []answer{{200, "Limits"}, {409, "Error"}, {503, "Error"}}, handle: (*Server).limits,
	},
	{
		path: "/v1/events/checkpoint", method: "GET", id: "checkpoint", summary: "Read a signed checkpoint of the record.",
		access: authorizes, limit: manageLimit, answers: []answer{{200, checkpointText}, {503, "Error"}}, handle: (*Server).checkpoint,
	},
	{
		path: "/rpc/{chainId}", method: "POST", id: "rpc", summary: "Pass a JSON-RPC request on to a chain's node.",
		access: public, limit: gatewayLimit, bodyBytes: gatewayBodyBytes, request: "RPCRequest",
		answers: gatewayAnswers, handle: (*Server).rpc,
	},
	{
		path: "/bundler/{chainId}", method: "POST", id: "bundler", summary: "Pass a JSON-RPC request on to a chain's bundler.",
		access: public, limit: gatewayLimit, bodyBytes: gatewayBodyBytes, request: "RPCRequest",
		answers: gatewayAnswers, handle: (*Server).bundler,
	},
	document("/.well-known/jwks.json", "jwks", "The Ed25519 keys that attestations are signed with.", "JWKS", (*Server).jwks),
	document("/.well-known/svc-pqc-keys.json", "wellKnownPQCKeys", "The ML-DSA-65 keys that attestations are signed with.", "PQCKeys", (*Server).pqcKeys),
	document("/v1/pqc-keys", "pqcKeys", "The ML-DSA-65 keys that attestations are signed with.", "PQCKeys", (*Server).pqcKeys),
	document("/.well-known/svc-conformance.json", "wellKnownConformance", "What the service conforms to.", "Conformance", (*Server).wellKnownConformance),
	document("/v1/svc-conformance", "conformance", "What the service conforms to.", "Conformance", (*Server).conformance),
	document(authzenConfigPath, "authzenConfiguration", "Where AuthZEN's endpoints are.", "AuthZENConfiguration", (*Server).authzenConfiguration, answer{404, "Error"}),
	document("/v1/capabilities", "capabilities", "What policies the service can enforce.", "Capabilities", (*Server).capabilities),
	document("/openapi.json", "openapi", "This document.", "Document", (*Server).openAPI),
	document("/healthz", "health", "Whether the process lives.", "Health", (*Server).health),
	document("/readyz", "ready", "Whether the service can decide, and if not, why.", "Readiness", (*Server).ready, answer{503, "Readiness"}),
	document("/v1/service-metadata", "metadata", "The commit that the build is bound to.", "Metadata", (*Server).metadata, answer{503, "Error"}),
}

// decided is what authorize and test-run have in common.
func decided(more ...answer) []answer {
	return append(more, answer{200, "Decision"}, answer{409, "Refusal"}, answer{503, "Error"})
}

// The paths of the routes that decide on intents.
const (
	authorizePath = "/v1/authorize"
	testRunPath   = authorizePath + "/test-run"
)

// responsePolicyPath is the path of the signed response rules.
const responsePolicyPath = "/v1/response-policy"

// pinsPath is the path of the tools that are pinned.
const pinsPath = "/v1/mcp/pins"

// decides reports whether a path is of a route that decides on intents.
func decides(path []byte) bool { return string(path) == authorizePath || string(path) == testRunPath }

// evaluates reports whether a path is of an AuthZEN route that decides.
func evaluates(path []byte) bool {
	return string(path) == evaluationPath || string(path) == evaluationsPath
}

// envoyRoute serves all requests of Envoy's external authorization: every method and path below a prefix. Their bodies are not used.
var envoyRoute = &route{path: envoy.Prefix, access: authorizes, limit: decisionLimit, handle: (*Server).askedByEnvoy}

// ofEnvoy reports whether a path is below the prefix of Envoy's requests.
func ofEnvoy(path []byte) bool { return bytes.HasPrefix(path, []byte(envoy.Prefix)) }

// gatewayAnswers are those of both gateways, whose handlers hold reads to the limit of sources. Upstream trouble is a
// JSON-RPC error.
var gatewayAnswers = []answer{{200, "RPCResponse"}, {401, "Error"}, {404, "Error"}, {429, "Error"}, {503, "Error"}}

// document is the row of a public document.
func document(path, id, summary, schema string, handle func(*Server, *call), more ...answer) route {
	return route{
		path: path, method: "GET", id: id, summary: summary, access: public, limit: noLimit,
		answers: append([]answer{{200, schema}}, more...), handle: handle,
	}
}

// A resource is all the routes of one path.
type resource struct {
	path           string
	prefix, suffix string // around the parameter
	parameter      string // its name; empty where the path has none
	byMethod       []*route
	allow          string // the value of the field Allow
	index          int    // among the resources
}

// resources are the paths in the order of the table, and exact those without a parameter.
var resources, exact = index()

func index() ([]*resource, map[string]*resource) {
	var all []*resource
	byPath, exact := map[string]*resource{}, map[string]*resource{}
	for i := range routes {
		row := &routes[i]
		r := byPath[row.path]
		if r == nil {
			r = newResource(row.path, len(all))
			all, byPath[row.path] = append(all, r), r
			if r.parameter == "" {
				exact[row.path] = r
			}
		}
		r.add(row)
	}
	return all, exact
}

func newResource(path string, index int) *resource {
	r := &resource{path: path, index: index}
	if prefix, rest, found := strings.Cut(path, "{"); found {
		r.prefix = prefix
		r.parameter, r.suffix, _ = strings.Cut(rest, "}")
	}
	return r
}

func (r *resource) add(row *route) {
	r.byMethod = append(r.byMethod, row)
	methods := make([]string, 0, 2*len(r.byMethod))
	for _, one := range r.byMethod {
		methods = append(methods, one.method)
		if one.method == fasthttp.MethodGet {
			methods = append(methods, fasthttp.MethodHead)
		}
	}
	slices.Sort(methods)
	r.allow = strings.Join(methods, ", ")
}

// find returns the resource of a path and the path's parameter, nil where there is none. A path is taken as it was
// sent: nothing is decoded or cleaned, so that no second spelling of a route gets past a proxy that knows the first.
func find(path []byte) (r *resource, parameter []byte) {
	if r = exact[string(path)]; r != nil {
		return r, nil
	}
	for _, r = range resources {
		if r.parameter == "" || len(path) <= len(r.prefix)+len(r.suffix) {
			continue
		}
		middle := path[len(r.prefix) : len(path)-len(r.suffix)]
		if string(path[:len(r.prefix)]) == r.prefix && string(path[len(path)-len(r.suffix):]) == r.suffix && bytes.IndexByte(middle, '/') < 0 {
			return r, middle
		}
	}
	return nil, nil
}

// route returns the route of a method, nil where the resource does not know it.
func (r *resource) route(method []byte) *route {
	for _, row := range r.byMethod {
		if string(method) == row.method || row.method == fasthttp.MethodGet && string(method) == fasthttp.MethodHead {
			return row
		}
	}
	return nil
}

// pathOf is the request target up to its query.
func pathOf(header *fasthttp.RequestHeader) []byte {
	target := header.RequestURI()
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		return target[:i]
	}
	return target
}

// maxBody is the largest body that the route reads.
func (r *route) maxBody() int {
	if r.bodyBytes == 0 {
		return otherBodyBytes
	}
	return r.bodyBytes
}
