package console

import (
	"bytes"
	"html"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// An editor changes an answer of the console on its way to the browser.
type editor func(header http.Header, body string) string

// faulty serves a visitor's console with a fault planted in each answer, and returns its origin.
func faulty(t *testing.T, v visitor, edit editor) (origin string) {
	t.Helper()
	target, err := url.Parse(v.origin)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target) // which sets Host, too
			if r.In.Header.Get("Origin") != "" {
				r.Out.Header.Set("Origin", v.origin)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			edited := edit(r.Header, string(body))
			r.Body = io.NopCloser(bytes.NewReader([]byte(edited)))
			r.Header.Set("Content-Length", strconv.Itoa(len(edited)))
			return r.Body.Close()
		},
	}
	proxy.ErrorLog = log.New(io.Discard, "", 0) // the browser leaves pages while they load
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "http://localhost:" + at.Port()
}

// replaced edits by replacing a text.
func replaced(old, with string) editor {
	return func(_ http.Header, body string) string { return strings.ReplaceAll(body, old, with) }
}

// unprotected edits pages, and removes their content security policy.
func unprotected(edit editor) editor {
	return func(header http.Header, body string) string {
		header.Del("Content-Security-Policy")
		return edit(header, body)
	}
}

// unescaped edits pages as templates would that do not escape texts.
func unescaped(header http.Header, body string) string {
	if !strings.HasPrefix(header.Get("Content-Type"), "text/html") || !strings.Contains(body, "lsn") {
		return body
	}
	return html.UnescapeString(body)
}

// A fault is planted, and a check says something of it.
type fault struct {
	name  string
	edit  editor
	path  string
	check func(b *tab, s *stage, v visitor) []string
	says  string

	signIn bool // the fault is in signing in
}

// planted are the faults of the holder's console.
var planted = []fault{
	{"no escaping, under the policy", unescaped, "/console/events/EVENT", markedOf, "Content Security Policy", false},
	{"no escaping", unprotected(unescaped), "/console/events/EVENT", markedOf, "a script ran: agentId", false},
	{"an image without text", replaced("<h1>", `<img src="/console/icon.svg"><h1>`), "/console", faultsIn(views[0]), "image-alt", false},
	{"a picture that is missing", replaced("<h1>", `<img alt="x" src="/console/none.svg"><h1>`), "/console", faultsIn(views[0]), "the picture is not shown", false},
	{"little contrast", replaced("--ink: #1b1f24", "--ink: #aaa"), "/console", faultsIn(views[0]), "desktop: color-contrast", false},
	{"little contrast in the dark", replaced("--ink: #e8eaed", "--ink: #444"), "/console", faultsIn(views[3]), "phone, dark: color-contrast", false},
	{"a field without a label", replaced(`for="token"`, ""), "/console/verify", faultsIn(views[0]), "label", false},
	{"a wide page", replaced("* { box-sizing", "main { min-width: 400px; } * { box-sizing"), "/console", faultsIn(views[2]), "phone: the page is", false},
	{"broken words", replaced("overflow-wrap: break-word", "overflow-wrap: anywhere"), "/console", faultsIn(views[2]), "is broken", false},
	{"a script in the page", replaced("<h1>", "<script>window.ran = 'planted'</script><h1>"), "/console", reportedOf, "Content Security Policy", false},
	{"a script that fails", unprotected(replaced("<h1>", "<script>missing()</script><h1>")), "/console", reportedOf, "a script failed", false},
	{"a message", unprotected(replaced("<h1>", "<script>console.error('planted')</script><h1>")), "/console", reportedOf, "the console says error", false},
	{"a dialog", unprotected(replaced("<h1>", "<script>alert('planted')</script><h1>")), "/console", reportedOf, "a dialog opens: planted", false},
	{"another origin", unprotected(replaced("<h1>", `<img alt="" src="http://127.0.0.1:9/x"><h1>`)), "/console", reportedOf, "a request to another origin", false},
	{"no icon", replaced(`rel="icon"`, `rel="x"`), "/console", reportedOf, "favicon.ico", false},
	{"a focus that is not seen", replaced("outline: 3px solid", "outline: 0 none"), "/console", unreachedOf, "it has no outline", false},
	{"what no key reaches", replaced("<button>", `<button tabindex="-1">`), "/console", unreachedOf, "less than all", false},
	{"a cookie for scripts", func(header http.Header, body string) string {
		header.Set("Set-Cookie", strings.Replace(header.Get("Set-Cookie"), " HttpOnly;", "", 1))
		return body
	}, "/console", exposedOf, "a script reads", true},
	{"a frame", unprotected(func(header http.Header, body string) string { header.Del("X-Frame-Options"); return body }), "/console", framedOf, "framed", false},
}

// plantedOperator are those of the operator's.
var plantedOperator = []fault{
	{"no escaping of all keys", unprotected(func(_ http.Header, body string) string { return html.UnescapeString(body) }), "/console/keys", markedOf, "a script ran: ", false},
	{"a wide table of keys", replaced(`class="scroll"`, ""), "/console/keys", faultsIn(views[2]), "phone: the page is", false},
	{"keys that no key reaches", replaced("<button aria-label", `<button tabindex="-1" aria-label`), "/console/keys", unreachedOf, "less than all", false},
	{"a cookie for links", func(header http.Header, body string) string {
		header.Set("Set-Cookie", strings.Replace(header.Get("Set-Cookie"), "SameSite=Strict", "SameSite=Lax", 1))
		return body
	}, "/console/keys", exposedOf, "the cookie is", true},
	{"a frame", unprotected(func(header http.Header, body string) string { header.Del("X-Frame-Options"); return body }), "/console/keys", framedOf, "framed", false},
}

func markedOf(b *tab, _ *stage, _ visitor) []string    { return b.marked() }
func unreachedOf(b *tab, _ *stage, _ visitor) []string { return b.unreached() }
func reportedOf(b *tab, _ *stage, _ visitor) []string  { return b.reported() }
func exposedOf(b *tab, _ *stage, v visitor) []string   { return b.exposed(v) }

// faultsIn checks in one view.
func faultsIn(in view) func(*tab, *stage, visitor) []string {
	return func(b *tab, s *stage, _ visitor) []string { return b.faults(s.axe, in) }
}

func framedOf(b *tab, _ *stage, _ visitor) []string {
	from, _ := attacker(b.t)
	if b.framed(from, b.origin+"/console") {
		return []string{"framed"}
	}
	return nil
}

// testPlanted plants faults in the console's answers, each of which the checks of the other tests have to find. A cookie is of
// all ports of a host, so one session is enough.
func testPlanted(t *testing.T, s *stage, v visitor, faults []fault) {
	held(s, v.key)
	hostile[0].send(s, v.key, marks(hostile[0].name)[0])
	b := s.open(t, v)
	b.visit("/console/events")
	event := b.column(0)[0]
	for _, fault := range faults {
		b.moves(faulty(t, v, fault.edit))
		if fault.signIn {
			b.load(chromedp.Navigate(b.origin + "/console"))
			b.load(chromedp.Click(chromedp.CSS("header form button")))
			b.signIn(v)
		}
		b.reported()
		b.visit(strings.Replace(fault.path, "EVENT", event, 1))
		found := ""
		for end := time.Now().Add(patience / 4); !strings.Contains(found, fault.says) && time.Now().Before(end); {
			found += strings.Join(fault.check(b, s, v), "\n") // the browser asks for an icon when it has time
		}
		if !strings.Contains(found, fault.says) {
			t.Errorf("%s is not found; the check says: %s", fault.name, found)
		}
	}
}
