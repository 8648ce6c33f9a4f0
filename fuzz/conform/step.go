package conform

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A step is one request.
type step struct {
	method, path string
	who          string // whose API key is sent: agent, shim, or "" for none
	key          string // the API key
	body         []byte
	header       map[string]string
	once         bool // a rate limit is an answer, too
}

// script writes a story as a script of curl, which takes keys from the environment. Policies are in it with their
// signatures, so that it needs no private key; it says what in it is of this run alone.
func script(base string, steps []step) string {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# Give fresh API keys; SHIM_KEY is that of a trusted shim. The last answer is the one that differs.\n")
	for _, note := range ofThisRun {
		if slices.ContainsFunc(steps, note.in) {
			fmt.Fprintf(&b, "# %s. The line \"again:\" of the report repeats it.\n", note.what)
		}
	}
	b.WriteString("set -eu\n")
	fmt.Fprintf(&b, "URL=${URL:-%s}\n", shellWord(base))
	for _, who := range []string{agent, shim} {
		for i := range steps {
			if steps[i].who == who {
				fmt.Fprintf(&b, ": \"${%s:?an API key with the scopes authorize and warranty:deploy}\"\n", variable(who))
				break
			}
		}
	}
	for i := range steps {
		s := &steps[i]
		fmt.Fprintf(&b, "curl -sS -i -X %s \"$URL\"%s", s.method, shellWord(s.path))
		if s.who != "" {
			fmt.Fprintf(&b, " -H \"Authorization: Bearer $%s\"", variable(s.who))
		}
		for name, value := range s.header {
			fmt.Fprintf(&b, " -H %s", shellWord(name+": "+value))
		}
		if len(s.body) > 0 {
			fmt.Fprintf(&b, " -H 'Content-Type: application/json' --data-binary %s", shellWord(string(s.body)))
		}
		b.WriteString("; echo\n")
	}
	return b.String()
}

// ofThisRun is what a script can't repeat later or elsewhere, and which steps have it.
var ofThisRun = []struct {
	what string
	in   func(step) bool
}{
	{"A hold's id in a path is of the run that found this, and other requests get another; an operator signs a resolution for one id and time", func(s step) bool {
		return strings.HasPrefix(s.path, "/v1/holds/") && pathID(s.path) != missingHold
	}},
	{"A trusted shim's consent to a deployment is good for four minutes", func(s step) bool {
		return strings.Contains(string(s.body), `"trusted_shim_attestation":`)
	}},
	{"An attestation (Svc-Receipt) is good for 60 seconds, for the key and the policy that it was made with", func(s step) bool { return s.header["Svc-Receipt"] != "" }},
}

// The parties of a story.
const agent, shim, stranger = "agent", "shim", "stranger"

func variable(who string) string { return strings.ToUpper(who) + "_KEY" }

// shellWord quotes a text for a POSIX shell.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// post returns a step that sends a value as JSON, or bytes as they are.
func post(path, who, key string, value any) step {
	body, isBytes := value.([]byte)
	if !isBytes {
		body, _ = json.Marshal(value) // maps and structs of texts and numbers
	}
	return step{method: http.MethodPost, path: path, who: who, key: key, body: body}
}

func get(path, who, key string) step {
	return step{method: http.MethodGet, path: path, who: who, key: key}
}

// missingHold is the id of no hold.
const missingHold = "00000000-0000-4000-8000-000000000000"

// pathID is the part of a path that is an id, or a text that no path has.
func pathID(path string) string {
	for _, part := range strings.Split(path, "/") {
		if uuid.MatchString(part) {
			return part
		}
	}
	return "\x00"
}
