// Package console proves the console in a real browser: Debian's Chromium drives every page of the built service.
package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"bailiff/fuzz/kit/debian"
)

// patience bounds what one step in the browser may take. It is long, because other work may take both processors.
const patience = 2 * time.Minute

// rebound is a name that the browser resolves to this machine, as an attacker's name server would.
const rebound = "rebound.example"

// startBrowser starts one browser with a profile of its own. Every tab is opened in it.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(debian.Program(t, "chromium", "chromium")), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP "+rebound+" 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	browser, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		closing, done := context.WithTimeout(browser, patience)
		defer done()
		_ = chromedp.Cancel(closing)
		cancel()
		stop()
	})
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("Chromium did not start: %v", err)
	}
	return browser
}

// A tab is a page in a browser session of its own, which shares no cookie with others.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	origin string   // the only one that it may ask; moves changes it
	found  []string // what the browser reported
}

// open opens a tab whose pages may send requests to one origin.
func open(t *testing.T, browser context.Context, origin string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, origin: origin}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatal(err)
	}
	b.do(call(emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}),
		call(audits.Enable, cdp.Empty{}), call(log.Enable, cdp.Empty{}), call(network.Enable, network.EnableParams{}))
	return b
}

// call is a command of the browser's protocol as a step.
func call[P, R any](command cdp.Command[P, R], parameters P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, parameters)
		return err
	})
}

// note takes an event of the browser. The browser's protocol waits for it, so it sends no command itself.
func (b *tab) note(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			b.report("the console says %s: %s", e.Type, plain(e.Args))
		}
	case *runtime.EventExceptionThrown:
		b.report("a script failed: %s", plain(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.report("the log says: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		b.report("the browser finds the issue %s: %s", e.Issue.Code, plain(e.Issue.Details))
	case *network.EventRequestWillBeSent:
		if !b.own(e.Request.URL) {
			b.report("a request to another origin: %s", e.Request.URL)
		}
	case *page.EventJavascriptDialogOpening:
		b.report("a dialog opens: %s", e.Message)
		go func() { _, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) }()
	}
}

// own reports whether an address may be asked for.
func (b *tab) own(address string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	parsed, err := url.Parse(address)
	return err == nil && (parsed.Scheme+"://"+parsed.Host == b.origin || parsed.Scheme == "data" || parsed.Scheme == "about")
}

// moves has the tab ask another origin from now on.
func (b *tab) moves(origin string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.origin = origin
}

func plain(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (b *tab) report(format string, arguments ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.found = append(b.found, fmt.Sprintf(format, arguments...))
}

// reported returns what the browser reported since the last call.
func (b *tab) reported() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.found
	b.found = nil
	return found
}

// within is the tab's context for one step.
func (b *tab) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, patience)
}

// do takes steps that load no page.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// load takes steps that load a page, and returns the status of the answer.
func (b *tab) load(steps ...chromedp.Action[chromedp.Void]) int {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	response, err := chromedp.RunResponse(ctx, steps...)
	if err != nil {
		b.t.Fatal(err)
	}
	return int(response.Status)
}

// visit opens a page of the tab's origin, which has to be answered 200.
func (b *tab) visit(path string) {
	b.t.Helper()
	if status := b.load(chromedp.Navigate(b.origin + path)); status != 200 {
		b.t.Fatalf("%s is answered %d", path, status)
	}
}

// ask returns the value of an expression in the page.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return value
}

// path is the path and query of the page that the tab shows.
func (b *tab) path() string {
	b.t.Helper()
	return ask[string](b, "location.pathname + location.search")
}

// text is the text of the page as it is shown.
func (b *tab) text() string {
	b.t.Helper()
	return ask[string](b, "document.body.innerText")
}

// scripts switches the scripts of pages on or off.
func (b *tab) scripts(on bool) {
	b.t.Helper()
	b.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on}))
}
