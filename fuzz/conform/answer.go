package conform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"bailiff/fuzz/differential"
	"bailiff/fuzz/oracle"
)

// members are those of a JSON object; nil where a text is none.
type members map[string]any

// parse reads an answer's body. Numbers stay as they are written.
func parse(body []byte) members {
	var m members
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&m) != nil || decoder.More() {
		return nil
	}
	return m
}

// text returns a member that is a text, else "".
func (m members) text(name string) string {
	text, _ := m[name].(string)
	return text
}

// number returns a member that is an integer, else -1.
func (m members) number(name string) int64 {
	n, _ := m[name].(json.Number)
	value, err := n.Int64()
	if err != nil {
		return -1
	}
	return value
}

// object returns a member that is an object, else nil.
func (m members) object(name string) members {
	inner, _ := m[name].(map[string]any)
	return inner
}

var (
	uuid    = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	compact = regexp.MustCompile(`^[\w-]+\.[\w-]+\.[\w-]+$`)
)

// A decided is an expectation with what else the answer has to repeat.
type decided struct {
	differential.Expected
	testRun    bool
	policyHash string
	nonce      string
	repeats    bool // the answer is that of an earlier request
}

// status is what HTTP has to say.
func (d *decided) status() int {
	switch {
	case d.Status == oracle.Error:
		return 400
	case d.testRun || d.Status == oracle.Allowed:
		return 200
	case d.Status == oracle.Pending:
		return 202
	}
	return 403
}

// String is the expectation in one line.
func (d *decided) String() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s %s %s", d.status(), d.Status, d.Code, d.Rule))
	switch {
	case d.repeats:
		text += ", replayed"
	case d.Opened:
		text += ", with a new hold"
	case d.Status == oracle.Pending && d.Hold != nil && d.Hold.ID != "":
		text += ", with the hold " + d.Hold.ID
	}
	return text
}

// A difference is a part of an answer that is not as it has to be; the zero value is none.
type difference struct{ what, want, got string }

func (d difference) any() bool { return d.what != "" }

// differ returns the first of some differences.
func differ(all ...difference) difference {
	for _, d := range all {
		if d.any() {
			return d
		}
	}
	return difference{}
}

// same compares one part.
func same(what string, want, got any) difference {
	if w, g := fmt.Sprint(want), fmt.Sprint(got); w != g {
		return difference{what, w, g}
	}
	return difference{}
}

// sameMember compares a member that has to be absent where it is wanted to be empty.
func sameMember(m members, name, want string) difference {
	value, there := m[name]
	if want == "" && there {
		return difference{"member " + name, "none", fmt.Sprint(value)}
	}
	return same("member "+name, want, m.text(name))
}

// check holds an answer of authorize or test-run to the expectation.
func (d *decided) check(r *reply) difference {
	m := parse(r.body)
	if m == nil {
		return difference{"body", "a JSON object", shorten(string(r.body))}
	}
	if d.Status == oracle.Error {
		return differ(same("HTTP status", 400, r.status), same("status", oracle.Denied, m.text("status")), same("error_code", d.Code, m.text("error_code")),
			sameMember(m, "policyHash", ""), sameMember(m, "matched_rule", ""), sameMember(m, "intent_attestation", ""), told(m))
	}
	return differ(
		same("HTTP status", d.status(), r.status), same("status", d.Status, m.text("status")), sameMember(m, "error_code", d.Code),
		sameMember(m, "matched_rule", d.Rule), same("policyHash", d.policyHash, m.text("policyHash")), told(m), d.attested(m), d.held(m),
		sameMember(m, "request_nonce", d.nonce), d.flags(m),
	)
}

// told holds that there is a message.
func told(m members) difference {
	if m.text("message") == "" {
		return difference{"member message", "a text", fmt.Sprint(m["message"])}
	}
	return difference{}
}

// attested holds that an attestation is there if, and only if, authorize has allowed.
func (d *decided) attested(m members) difference {
	value, there := m["intent_attestation"]
	token, _ := value.(string)
	switch allowed := d.Status == oracle.Allowed && !d.testRun; {
	case !there:
		return difference{"member intent_attestation", "present", "absent"}
	case allowed && !compact.MatchString(token):
		return difference{"member intent_attestation", "a compact JWT", fmt.Sprint(value)}
	case !allowed && value != nil:
		return difference{"member intent_attestation", "null", shorten(fmt.Sprint(value))}
	}
	return difference{}
}

// held holds what a PENDING says of its hold.
func (d *decided) held(m members) difference {
	id := m.text("holdId")
	switch {
	case d.Status != oracle.Pending || d.testRun:
		return differ(sameMember(m, "holdId", ""), sameMember(m, "expiresAt", ""))
	case !uuid.MatchString(id):
		return difference{"member holdId", "a UUID", fmt.Sprint(m["holdId"])}
	case !d.Opened && d.Hold.ID != id:
		return difference{"member holdId", "that of the open hold, " + d.Hold.ID, id}
	}
	return sameMember(m, "policyRule", d.Rule)
}

// flags holds the members that only some answers have.
func (d *decided) flags(m members) difference {
	if !d.testRun {
		replayed, _ := m["replayed"].(bool)
		return differ(sameMember(m, "test_run", ""), same("member replayed", d.repeats, replayed))
	}
	return differ(same("member test_run", true, m["test_run"]), same("member observe_mode_active", false, m["observe_mode_active"]))
}

// shorten bounds what of an answer is shown.
func shorten(text string) string {
	const most = 400
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

func asObject(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}
