package bailiff_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
)

// onlyImporters names the one folder that may import a heavy dependency, subfolders included.
var onlyImporters = map[string]string{
	"github.com/alecthomas/participle":               "grammar",
	"github.com/alecthomas/kong":                     "cmd/bailiff",
	"github.com/KimMachineGun/automemlimit":          "cmd/bailiff",
	"github.com/owenrumney/go-sarif":                 "cmd/bailiff",
	"filippo.io/age":                                 "cmd/bailiff",
	"github.com/cockroachdb/pebble":                  "runtime/ledger/pebble",
	"github.com/jackc/pgx":                           "runtime/ledger/postgres",
	"github.com/go-jose/go-jose":                     "runtime/attest",
	"github.com/cloudflare/circl":                    "runtime/attest",
	"golang.org/x/mod/sumdb/note":                    "runtime/attest",
	"github.com/valyala/fasthttp":                    "httpd",
	"github.com/dunglas/httpsfv":                     "httpd",
	"github.com/getkin/kin-openapi":                  "httpd",
	"github.com/prometheus":                          "runtime/metrics",
	"github.com/standard-webhooks/standard-webhooks": "runtime/webhook",
	"go.opentelemetry.io":                            "runtime/otlp",
	"google.golang.org/protobuf":                     "runtime/otlp",
	"github.com/ethereum/go-ethereum":                "runtime/gateway",
	"gonum.org/v1/plot":                              "httpd/console",
	"github.com/go-json-experiment":                  "runtime/intent",
	"github.com/modelcontextprotocol/go-sdk":         "httpd/mcpproxy",
	"mvdan.cc/sh":                                    "vm/form/command",
	"golang.org/x/net/idna":                          "vm/form/httpurl",
	"golang.org/x/net/publicsuffix":                  "runtime/webhook",
	"go.yaml.in/yaml":                                "runtime/policytest",
	"github.com/tailscale/hujson":                    "runtime/hook/setup",
	"github.com/BurntSushi/toml":                     "runtime/hook/setup",
	"github.com/chromedp":                            "httpd/e2e/console",
	"golang.org/x/sync":                              "httpd/mcpproxy",
	"golang.org/x/time":                              "httpd",
	"github.com/CycloneDX/cyclonedx-go":              "cmd/release",
	"github.com/google/go-containerregistry":         "cmd/release",
	"golang.org/x/crypto/x509roots":                  "cmd/release",
	"helm.sh/helm":                                   "fuzz/chart",
	"k8s.io":                                         "fuzz/chart",
}

// alsoImport names further folders that may import a heavy dependency, each for the reason behind it.
var alsoImport = map[string][]string{
	"github.com/cockroachdb/pebble":   {"runtime/retention"},                                                                                              // its tests crash the disk
	"github.com/jackc/pgx":            {"bench/store", "fuzz/kit/pgtest"},                                                                                 // the transaction that stays open, and a server's settings
	"github.com/go-json-experiment":   {"runtime/authzen", "runtime/gateway", "runtime/hook", "runtime/response", "runtime/strictjson", "httpd/mcpproxy"}, // the strict reading of bodies, events, results and MCP messages
	"github.com/ethereum/go-ethereum": {"fuzz/evm"},                                                                                                       // the machine that executes what the gateways forward
	"github.com/prometheus":           {"httpd"},                                                                                                          // procfs: the user at the other end of a connection
	"go.opentelemetry.io":             {"httpd/e2e"},                                                                                                      // the collector that the built service talks to
	"google.golang.org/protobuf":      {"httpd/e2e"},                                                                                                      // the same
	"golang.org/x/time":               {"runtime/gateway"},                                                                                                // limits of log lines
	"golang.org/x/net/idna":           {"fuzz/attacks"},                                                                                                   // spells hosts
	"go.yaml.in/yaml":                 {"runtime/hook/setup", "fuzz/attacks", "cmd/bailiff/settings", "."},                                                // settings files of hosts, those on the pages, and the chart's values
	"gonum.org/v1/plot":               {"bench/servers", "bench/store", "bench/figures"},                                                                  // the plots of results
}

// mayImport lists, for each package of the project, the project's packages that its production code may
// import, by prefix. Arrows point one way: cmd → httpd → decision → {compiler, vm, ledger, attest, intent} → leaves.
var mayImport = map[string][]string{
	"grammar":               {},
	"vm":                    {"vm/amount", "vm/match", "vm/wire"},
	"vm/wire":               {"vm/amount"},
	"vm/match":              {},
	"vm/amount":             {},
	"vm/form":               {"vm/amount", "vm/form", "vm/match"},
	"vm/slot":               {"vm/errcode", "vm/form", "vm/slot"},
	"compiler":              {"grammar", "vm", "vm/errcode", "compiler/codes", "compiler/frame", "compiler/profiles", "compiler/sections"},
	"compiler/sections":     {"grammar", "vm", "vm/errcode", "compiler/codes", "compiler/frame", "compiler/profiles"},
	"compiler/profiles":     {"grammar", "vm", "vm/errcode", "compiler/codes", "compiler/frame"},
	"compiler/frame":        {"grammar", "vm", "vm/errcode", "compiler/codes"},
	"compiler/lint":         {"grammar", "vm", "compiler", "compiler/codes"},
	"compiler/codes":        {"grammar", "compiler/example"},
	"compiler/example":      {},
	"vm/errcode":            {},
	"runtime/intent":        {"vm", "grammar", "vm/errcode", "runtime/jcs", "runtime/subject"},
	"runtime/jcs":           {},
	"runtime/mask":          {},
	"runtime/subject":       {},
	"runtime/ledger":        {"runtime/system", "vm/amount", "vm/errcode", "runtime/ledger", "runtime/subject"},
	"runtime/ledger/reopen": {"runtime/ledger", "runtime/system"},
	"runtime/atomicfile":    {},
	"runtime/system":        {"runtime/clock"},
	"runtime/attest":        {"runtime/jcs", "runtime/atomicfile"},
	"runtime/response":      {"runtime/attest"},
	"runtime/retention":     {"runtime/atomicfile", "runtime/attest", "runtime/ledger"},
	"runtime/ratelimit":     {},
	"runtime/clock":         {},
	"runtime/strictjson":    {},
	"runtime/shims":         {"compiler", "vm/errcode", "runtime/attest", "runtime/ledger", "runtime/service", "runtime/strictjson"},
	"runtime/events":        {"vm/errcode", "runtime/accounts", "runtime/attest", "runtime/eventjson", "runtime/evidence", "runtime/ledger", "runtime/metrics", "runtime/service", "runtime/turns"},
	"runtime/holds":         {"compiler", "vm", "runtime/accounts", "runtime/attest", "runtime/clock", "runtime/ledger", "runtime/mask", "runtime/metrics", "runtime/service", "runtime/strictjson", "runtime/turns"},
	"runtime/approvals":     {"vm", "runtime/accounts", "runtime/attest", "runtime/decision", "runtime/eventjson", "runtime/holds", "runtime/ledger", "runtime/mask", "runtime/policies", "runtime/service"},
	"runtime/accounts":      {"vm/errcode", "runtime/attest", "runtime/clock", "runtime/intent", "runtime/ledger", "runtime/service", "runtime/strictjson", "runtime/webhook"},
	"runtime/turns":         {"runtime/clock", "runtime/ledger", "runtime/metrics"},
	"runtime/service":       {"vm/errcode", "runtime/attest", "runtime/clock", "runtime/ledger", "runtime/metrics", "runtime/strictjson", "runtime/system", "runtime/turns"},
	"runtime/budget":        {},
	"runtime/hook":          {"runtime/jcs", "vm/slot"},
	"runtime/metrics":       {"vm/errcode"},
	"runtime/eventjson":     {"runtime/ledger", "runtime/mask", "runtime/subject", "vm"},
	"runtime/tracecontext":  {},
	"runtime/authzen":       {"runtime/jcs"},
	"runtime/envoy":         {"runtime/jcs", "vm/form/httpurl"},
	"runtime/otlp":          {"runtime/eventjson", "runtime/ledger", "runtime/metrics", "runtime/subject", "runtime/tracecontext"},
	"runtime/mail":          {"runtime/system"},
	"runtime/webhook":       {"runtime/mail", "runtime/subject", "runtime/system", "vm/form/httpurl", "runtime/ledger", "runtime/eventjson", "runtime/metrics"},
	"runtime/evidence":      {"grammar", "runtime/attest", "runtime/eventjson", "runtime/ledger"},
	"runtime/policies": {"grammar", "compiler", "vm", "runtime/accounts", "runtime/attest", "runtime/intent", "runtime/ledger", "runtime/metrics", "runtime/ratelimit",
		"runtime/clock", "runtime/response", "runtime/service", "runtime/shims", "runtime/strictjson", "runtime/turns"},
	"runtime/decision":   {"grammar", "compiler", "vm", "runtime"},
	"runtime/gateway":    {"runtime/system", "grammar", "compiler", "vm", "runtime/attest", "runtime/budget", "runtime/ledger", "vm/errcode", "runtime/jcs"},
	"runtime/hook/setup": {"runtime/hook"},
	"runtime/policytest": {"grammar", "runtime/decision", "runtime/policies", "runtime/service", "runtime/intent", "vm/errcode", "vm/slot"},
	"httpd": {
		"runtime/decision", "runtime/policies", "runtime/accounts", "runtime/events", "runtime/holds", "runtime/service", "runtime/clock", "runtime/budget", "vm/errcode", "runtime/jcs", "runtime/ledger", "runtime/ratelimit", "runtime/metrics",
		"runtime/authzen", "runtime/envoy", "runtime/eventjson", "runtime/gateway", "runtime/hook", "runtime/intent", "runtime/subject", "runtime/tracecontext", "compiler", "vm", "grammar", "runtime/approvals", "httpd/approve", "httpd/console", "httpd/peers", "httpd/strict",
	},
	"httpd/peers":             {"runtime/ledger"},
	"httpd/console":           {"runtime/decision", "runtime/policies", "runtime/accounts", "runtime/events", "runtime/holds", "runtime/service", "runtime/clock", "runtime/budget", "vm/errcode", "runtime/eventjson", "runtime/ledger"},
	"httpd/approve":           {"runtime/approvals", "runtime/clock", "runtime/holds", "runtime/ledger", "runtime/service", "vm/errcode", "httpd/console"},
	"httpd/strict":            {},
	"httpd/client":            {},
	"httpd/client/verify":     {"httpd/client", "runtime/attest"},
	"httpd/client/typescript": {"fuzz/kit/npm"},
	"httpd/client/python":     {"httpd/client/drive"},
	"httpd/mcpproxy":          {"httpd/client", "httpd/client/verify", "runtime/attest", "runtime/jcs", "runtime/response"},
	"cmd/bailiff":             {""},
	"cmd/bailiff/conform":     {"cmd/bailiff/cli", "cmd/bailiff/client", "fuzz/conform", "runtime/accounts", "runtime/attest", "runtime/clock"},
	"cmd/release":             {},
	"bench":                   {""},
	"fuzz":                    {""},
	"fuzz/oracle":             {"fuzz/oracle/shell", "grammar", "vm/errcode"},
	"fuzz/oracle/shell":       {},
	"fuzz/conform":            {"compiler", "fuzz/conform", "fuzz/differential", "fuzz/gen", "fuzz/hosts", "fuzz/kit/claims", "fuzz/oracle", "grammar", "httpd/client", "runtime/attest", "vm/form/evmaddr"},
	"fuzz/ledgertest":         {""},
	"runtime/attest/peer":     {"fuzz/kit/npm"},
	"runtime/gateway/peer":    {"fuzz/kit/npm"},
}

// benchmarkImports are heavy dependencies that benchmarks may use as floors to measure against.
var benchmarkImports = []string{"github.com/valyala/fasthttp", "github.com/cockroachdb/pebble", "github.com/cloudflare/circl"}

// oracleImports are the heavy dependencies by which the oracle reads a second time what the leaves read.
var oracleImports = []string{"mvdan.cc/sh", "golang.org/x/net/idna"}

// checkImports returns what is wrong with the imports of one file.
func checkImports(s source) (faults []string) {
	for _, spec := range s.file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		for heavy, folder := range onlyImporters {
			if under(path, heavy) || strings.HasPrefix(path, heavy+"/") {
				if !under(s.dir, folder) && !allowedBeside(s.dir, heavy) {
					faults = append(faults, s.path+": only "+folder+" may import "+path)
				}
			}
		}
		if inner, ok := strings.CutPrefix(path, "bailiff/"); ok && !s.test && !arrow(s.dir, inner) {
			faults = append(faults, s.path+": "+s.dir+" may not import "+inner)
		}
	}
	return faults
}

// allowedBeside reports whether a folder that holds the product against something may import what it holds it against.
func allowedBeside(dir, heavy string) bool {
	return slices.ContainsFunc(alsoImport[heavy], func(folder string) bool { return under(dir, folder) }) ||
		under(dir, "bench") && slices.Contains(benchmarkImports, heavy) ||
		under(dir, "fuzz/oracle") && slices.Contains(oracleImports, heavy)
}

func arrow(from, to string) bool {
	rules, best := []string(nil), -1
	for folder, allowed := range mayImport {
		if under(from, folder) && len(folder) > best {
			rules, best = allowed, len(folder)
		}
	}
	for _, prefix := range rules {
		if under(to, prefix) {
			return true
		}
	}
	return false
}

func TestImportsPointOneWay(t *testing.T) {
	for _, s := range sources(t, ".") {
		for _, fault := range checkImports(s) {
			t.Error(fault)
		}
	}
}

// TestArchitecture holds the last column of the table in ARCHITECTURE.md to mayImport; -rewrite writes it.
func TestArchitecture(t *testing.T) {
	const architecture = "ARCHITECTURE.md"
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	want, faults := withImports(string(text))
	for _, fault := range faults {
		t.Error(fault)
	}
	page.Whole(t, architecture, "go test . -run TestArchitecture -rewrite", want)
}

// withImports returns the page with what each folder in its table may import, and the folders that it or mayImport should not
// have or lacks.
func withImports(page string) (changed string, faults []string) {
	lines := strings.Split(page, "\n")
	rows := map[string]int{}
	for i, line := range lines {
		if cells := strings.Split(line, " | "); len(cells) == 3 && strings.HasPrefix(line, "| `") {
			rows[strings.Trim(cells[0], "| `")] = i
		}
	}
	below := map[string][]string{} // the folders without a row, by the row above them
	for folder, allowed := range mayImport {
		for _, name := range append([]string{folder}, allowed...) {
			if info, err := os.Stat(filepath.FromSlash(name)); name != "" && (err != nil || !info.IsDir()) {
				faults = append(faults, "mayImport names "+name+", which is not a folder")
			}
		}
		at := folder
		for rows[at] == 0 && at != "." {
			at = filepath.ToSlash(filepath.Dir(at))
		}
		if at == "." {
			faults = append(faults, "the table of folders lacks "+folder)
		} else if at != folder {
			below[at] = append(below[at], folder)
		}
	}
	for folder, i := range rows {
		allowed, ok := mayImport[folder]
		if !ok {
			faults = append(faults, "the table of folders has "+folder+", and mayImport does not")
		}
		cell := importsInWords(allowed)
		for _, name := range slices.Sorted(slices.Values(below[folder])) {
			cell += "; `" + strings.TrimPrefix(name, folder+"/") + "`: " + importsInWords(mayImport[name])
		}
		cells := strings.Split(lines[i], " | ")
		lines[i] = cells[0] + " | " + cells[1] + " | " + cell + " |"
	}
	return strings.Join(lines, "\n"), faults
}

func importsInWords(folders []string) string {
	switch {
	case len(folders) == 0:
		return "–"
	case slices.Contains(folders, ""):
		return "all"
	}
	return "`" + strings.Join(slices.Sorted(slices.Values(folders)), "`, `") + "`"
}
