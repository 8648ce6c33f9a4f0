package httpd

import (
	"net/http"

	"github.com/valyala/fasthttp"

	"bailiff/runtime/jcs"
)

// healthy is the answer of a process that runs.
var healthy = []byte(`{"status":"ok"}`)

// readiness returns the document of the checks, and its HTTP status: 503 unless there are checks and all of them pass.
func readiness(checks func() []Check) (status int, document []byte) {
	var list []Check
	if checks != nil {
		list = checks()
	}
	status = fasthttp.StatusOK
	if len(list) == 0 {
		status = fasthttp.StatusServiceUnavailable
	}
	var rows []byte
	for i, check := range list {
		if i > 0 {
			rows = append(rows, ',')
		}
		ready := "true"
		if !check.Ready {
			status, ready = fasthttp.StatusServiceUnavailable, "false"
		}
		rows = jcs.AppendString(append(rows, `{"name":`...), check.Name)
		rows = jcs.AppendString(append(rows, `,"ready":`+ready+`,"reason":`...), check.Reason)
		rows = append(rows, '}')
	}
	word := "ready"
	if status != fasthttp.StatusOK {
		word = "not ready"
	}
	document = append(append([]byte(`{"status":"`+word+`","checks":[`), rows...), `]}`...)
	return status, document
}

func (s *Server) ready(c *call) {
	status, document := readiness(s.config.Ready)
	writeJSON(c.RequestCtx, status, document)
	c.Response.Header.SetCanonical(cacheControl, noStore)
}

// readyHandler answers as the API's route does.
func readyHandler(checks func() []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		status, document := readiness(checks)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = w.Write(document) // the client has gone
	}
}
