package console

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// markups are texts by which a page that does not escape them runs a script. Each is of printable ASCII without white space, so
// that an action can be one, and short enough for every field.
var markups = []string{
	`"><script>window.ran=1</script>`,
	`</title></td></textarea><img/src=x/onerror=alert(1)>`,
	`'onfocus='alert(1)'autofocus='`,
	`<svg/onload=window.ran=1>`,
	`javascript:alert(1)`,
	`{{alert(1)}}${alert(1)}`,
}

// A hostileField is a field of a request that an agent chooses.
type hostileField struct {
	name  string
	shown bool // its text comes to a page as it was sent
	send  func(s *stage, k key, markup string)
}

// hostile are the fields. Those that are not shown are refused, kept in another form, or not kept.
var hostile = []hostileField{
	{"agentId", true, func(s *stage, k key, m string) { s.ask(k, m, object{"action": "bash", "command": "ls"}) }},
	{"task_id", false, func(s *stage, k key, m string) {
		s.ask(k, "a", object{"action": "bash", "command": "ls", "task_id": m})
	}},
	{"action", true, func(s *stage, k key, m string) { s.ask(k, "a", object{"action": m}) }},
	{"amount", true, func(s *stage, k key, m string) {
		s.ask(k, "a", object{"action": "wallet.transfer", "targetAddress": address, "amount": m})
	}},
	{"token", true, func(s *stage, k key, m string) {
		s.ask(k, "a", object{"action": "wallet.transfer", "targetAddress": address, "token": m, "amount": "1"})
	}},
	{"targetAddress", false, func(s *stage, k key, m string) {
		s.ask(k, "a", object{"action": "wallet.transfer", "targetAddress": m, "amount": "0.1"})
	}},
	{"to", true, func(s *stage, k key, m string) { s.ask(k, "a", object{"action": "email.send", "to": []string{m, m}}) }},
	{"path", true, func(s *stage, k key, m string) { s.ask(k, "a", object{"action": "file_write", "path": "/" + m}) }},
	{"host", false, func(s *stage, k key, m string) {
		s.ask(k, "a", object{"action": "web_fetch", "url": "https://" + m + "/"})
	}},
	{"url", false, func(s *stage, k key, m string) {
		s.ask(k, "a", object{"action": "web_fetch", "url": "https://a.example/" + m + "?" + m + "#" + m})
	}},
	{"command", true, func(s *stage, k key, m string) { s.ask(k, "a", object{"action": "bash", "command": "echo " + m}) }},
	{"denied command", true, func(s *stage, k key, m string) { s.ask(k, "a", object{"action": "bash", "command": "sudo " + m}) }},
	{"MCP tool", true, func(s *stage, k key, m string) { s.ask(k, "a", object{"action": "mcp.files." + m}) }},
	{"MCP server", true, func(s *stage, k key, m string) { s.ask(k, "a", object{"action": "mcp." + m + ".read"}) }},
	{"metadata", true, func(s *stage, k key, m string) {
		s.ask(k, "a", object{"action": "bash", "command": "git push " + m, "metadata": object{m: m, "desk": m}})
	}},
	{"context", false, func(s *stage, k key, m string) {
		s.post(k, "/v1/authorize", object{"framework": "custom", "agentId": "a", "context": m, "txCommit": strings.Repeat("ab", 32), "intent": object{"action": "bash", "command": "ls"}})
	}},
	{"webhook", true, func(s *stage, k key, m string) {
		s.post(k, "/v1/webhooks", object{"url": "https://127.0.0.1:1/" + m, "events": []string{"policy.deployed"}})
	}},
}

// injected returns what of the page is made of a text of an agent: elements and attributes that no page of the console has,
// and what a script left behind.
const injected = `(() => {
	const found = [];
	if (window.ran !== undefined) found.push("a script ran: " + window.ran);
	for (const e of document.querySelectorAll("*")) {
		const odd = [...e.attributes].find(a => a.name.startsWith("on") || a.name === "autofocus" || /^\s*javascript:/i.test(a.value) && a.name !== "value");
		if (odd || e.matches("img[src='x'], iframe, object, embed, base, script:not([src^='/console/'])")) found.push(e.outerHTML.slice(0, 200));
	}
	return found;
})()`

// marked returns the faults of a page that shows texts of an agent.
func (b *tab) marked() []string {
	b.t.Helper()
	return append(ask[[]string](b, injected), b.reported()...)
}

// testMarkup has an agent send markup in every field that it chooses, and looks at every page, under the console's content
// security policy and without it: the first is to find nothing to prevent.
func testMarkup(t *testing.T, s *stage) {
	victim := s.newKey()
	for _, field := range hostile {
		for _, markup := range marks(field.name) {
			field.send(s, victim, markup)
		}
	}
	for _, bypass := range []bool{false, true} {
		b := open(t, s.browser, s.origin)
		b.do(call(page.SetBypassCSP, page.SetBypassCSPParams{Enabled: bypass}))
		b.signIn(s.holder(victim))
		var shown strings.Builder
		for _, path := range b.everyPage(bypass) {
			b.visit(path)
			for _, fault := range b.marked() {
				t.Errorf("%s, without a content security policy %v: %s", path, bypass, fault)
			}
			if !bypass {
				b.look(views[2])
				for _, fault := range b.wide(views[2]) {
					t.Errorf("%s, %s: %s", path, views[2].name, fault)
				}
			}
			shown.WriteString(b.text())
		}
		b.reflected(bypass)
		for _, field := range hostile {
			if n := appearances(shown.String(), field.name); bypass && field.shown && n < len(markups)-1 { // a path has no colon
				t.Errorf("%d of %d texts of %s are on a page; the test looks at nothing", n, len(markups), field.name)
			}
		}
	}
}

// marks returns the texts that an agent sends in a field. Scripts in them say which field they were in.
func marks(field string) (texts []string) {
	for _, markup := range markups {
		texts = append(texts, strings.ReplaceAll(markup, "1", "'"+strings.ReplaceAll(field, " ", "_")+"'"))
	}
	return texts
}

// appearances counts the texts of a field that are on a page. Symbols of tokens and hosts are in lower case there.
func appearances(shown, field string) (n int) {
	for _, text := range marks(field) {
		if strings.Contains(strings.ToLower(shown), strings.ToLower(text)) {
			n++
		}
	}
	return n
}

// everyPage lists the pages of a key: all of them, or one of each kind.
func (b *tab) everyPage(all bool) (paths []string) {
	b.t.Helper()
	paths = []string{"/console", "/console/events", "/console/holds", "/console/policy", "/console/webhooks", "/console/key", "/console/verify"}
	seen := map[string]bool{}
	for _, list := range []string{"/console/events", "/console/holds"} {
		b.visit(list)
		links := b.hyperlinks()
		for all && strings.Contains(b.text(), "Older events") {
			b.load(chromedp.Click(chromedp.CSS("a[rel=next]")))
			links = append(links, b.hyperlinks()...)
		}
		for _, link := range links {
			name := link.Path
			if !all {
				name = kind(name)
			}
			if strings.HasPrefix(link.Path, list+"/") && !link.Download && !seen[name] {
				seen[name] = true
				paths = append(paths, link.Path)
			}
		}
	}
	return paths
}

// reflected sends markup in what the console's own forms and addresses take.
func (b *tab) reflected(bypass bool) {
	b.t.Helper()
	for _, markup := range markups {
		for _, name := range []string{"rule", "decision", "from", "to", "before", markup} {
			status := b.load(chromedp.Navigate(b.origin + "/console/events?" + url.Values{name: {markup}}.Encode()))
			b.harmless(name, status, bypass)
		}
		for _, path := range []string{"/console/", "/console/events/", "/console/holds/"} {
			b.harmless(path, b.load(chromedp.Navigate(b.origin+path+url.PathEscape(markup))), bypass)
		}
		b.visit("/console/verify")
		b.do(chromedp.SetValue(chromedp.CSS("#token"), markup))
		b.harmless("token", b.load(chromedp.Click(chromedp.CSS("main form button"))), bypass)
	}
}

// harmless fails where the page that was answered with a status is made of a text of its address.
func (b *tab) harmless(what string, status int, bypass bool) {
	b.t.Helper()
	for _, fault := range b.marked() {
		if status == 200 || !strings.Contains(fault, fmt.Sprintf("the server responded with a status of %d", status)) {
			b.t.Errorf("%s, without a content security policy %v: %s", html.EscapeString(what), bypass, fault)
		}
	}
}
