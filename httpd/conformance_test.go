package httpd

import (
	"strings"
	"testing"
)

// TestUnboundBuild asks a build that is bound to no commit for its commit: there is none to tell, which nobody keeps.
func TestUnboundBuild(t *testing.T) {
	w := newWorld(t)
	config := w.config(w.authority("", false))
	config.Commit = ""
	w.serve(config)
	response, body := w.send(w.request("GET /v1/service-metadata"))
	if response.StatusCode != 503 || !strings.Contains(body, `"error_code":"SVC_SERVICE_METADATA_UNAVAILABLE"`) || strings.Contains(body, "serviceCommit") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if kept := response.Header.Values("Cache-Control"); len(kept) != 1 || kept[0] != "no-store" {
		t.Errorf("Cache-Control %q", kept)
	}
}
