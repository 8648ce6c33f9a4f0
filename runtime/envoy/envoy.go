// Package envoy reads the requests of Envoy's external authorization over HTTP, and translates each into a request for a decision.
//
// Envoy repeats the method, the host and the path of the request that it holds back, and puts a prefix from its configuration before
// the path. The prefix ends in the scheme, /envoy/http or /envoy/https: it comes from the operator, whereas any client can send
// the header X-Forwarded-Proto. All this becomes an intent with the action `http`.
//
// The rules must judge the path that the upstream sees, which may decode or clean it in its own way. So a path is judged only if
// no way changes it: it is in its normal form already, without dot segments, empty segments, parameters of dot segments, escaped
// slashes, or escapes of escapes. Every other path is refused.
package envoy

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"bailiff/runtime/jcs"
	"bailiff/vm/form/httpurl"
)

// Prefix begins the paths of this door.
const Prefix = "/envoy/"

// framework is what decisions of this door name as theirs, and as their agent where Envoy names none.
const framework = "envoy"

// A Request is a request of Envoy's.
type Request struct {
	Method string // of the request that it holds back,
	Host   string // its host, with or without a port,
	Target string // and its path and query, after the prefix
	Agent  string // that Envoy names; "" for none
}

// Body returns the body of the request for a decision (specification, "authorize"), or why the request is not judged. The URL of
// the intent is scheme, host and target as they were sent.
func (r *Request) Body() ([]byte, error) {
	address, err := r.address()
	if err != nil {
		return nil, err
	}
	agent := r.Agent
	switch {
	case agent == "":
		agent = framework
	case !utf8.ValidString(agent):
		return nil, errors.New("the name of the agent is not UTF-8")
	case !utf8.ValidString(r.Method):
		return nil, errors.New("the method is not UTF-8")
	}
	intent := jcs.AppendString([]byte(`{"action":"http","method":`), r.Method)
	intent = append(jcs.AppendString(append(intent, `,"url":`...), address), '}')
	return jcs.Request(framework, agent, intent), nil
}

// hosts are the characters that hosts and ports have on the wire. None of them ends a host inside of an address.
var hosts = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]+$`)

// address is the URL that the client asked for.
func (r *Request) address() (string, error) {
	rest, found := strings.CutPrefix(r.Target, Prefix)
	scheme, target, ended := strings.Cut(rest, "/")
	if !found || !ended || scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("the path does not begin with %shttp/ or %shttps/", Prefix, Prefix)
	}
	if !hosts.MatchString(r.Host) {
		return "", errors.New("the host has characters that hosts do not have")
	}
	address := scheme + "://" + r.Host + "/" + target
	parsed, err := httpurl.Parse(address)
	if err != nil {
		return "", err
	}
	path, _, _ := strings.Cut("/"+target, "?")
	if fault := ambiguous(path); fault != "" || parsed.Path != path || parsed.NormalPath() != path || strings.ContainsRune(target, '#') {
		return "", fmt.Errorf("the path is not in its normal form%s", fault)
	}
	return address, nil
}

// hidden are characters that some upstreams read as structure once they have decoded a path, and a "%" that begins an escape again.
var hidden = regexp.MustCompile(`[/\\?#;\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}`)

// ambiguous says why upstreams may take a path for another one; it is empty where none does.
func ambiguous(path string) string {
	plain := strings.NewReplacer("/", "", ";", "").Replace(path) // these are seen as they are
	decoded, err := url.PathUnescape(plain)
	switch {
	case err != nil || !utf8.ValidString(decoded):
		return ": an escape is malformed, or does not make UTF-8"
	case hidden.MatchString(decoded):
		return ": it escapes a character that separates, or an escape"
	case strings.Contains(path, "//"):
		return ": it has an empty segment"
	}
	for segment := range strings.SplitSeq(path, "/") {
		if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." || name == "" && segment != "" {
			return ": it has a dot segment, or a parameter of nothing"
		}
	}
	return ""
}
