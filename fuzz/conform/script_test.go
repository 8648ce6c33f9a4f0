package conform

import (
	"strings"
	"testing"
)

// TestScriptSays what a script of curl can't repeat, where it has that and nowhere else.
func TestScriptSays(t *testing.T) {
	id := "/v1/holds/11111111-1111-4111-8111-111111111111"
	write := post("/rpc/1", "", "", []byte("{}"))
	write.header = map[string]string{"Svc-Receipt": "a.b.c"}
	for _, one := range []struct {
		step step
		says string // "": nothing
	}{
		{get(id, agent, "k"), "# A hold's id"},
		{post(id+"/resolution", agent, "k", []byte("{}")), "# A hold's id"},
		{post("/v1/warranty/deploy", agent, "k", map[string]string{"trusted_shim_attestation": "x"}), "# A trusted shim's consent"},
		{write, "# An attestation"},
		{get("/v1/holds/"+missingHold, agent, "k"), ""},
		{post("/v1/warranty/deploy", agent, "k", map[string]string{"warranty_md": "x"}), ""},
		{post("/v1/authorize", agent, "k", []byte(goodBody)), ""},
	} {
		text := script("http://127.0.0.1:1", []step{one.step})
		if again := strings.Count(text, "again:"); one.says == "" && again > 0 || one.says != "" && (again != 1 || !strings.Contains(text, one.says)) {
			t.Errorf("%s %s: expected a note %q\n%s", one.step.method, one.step.path, one.says, text)
		}
	}
}
