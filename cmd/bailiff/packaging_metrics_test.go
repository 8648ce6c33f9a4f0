package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bailiff/fuzz/kit/debian"
)

const (
	dashboardFile  = "packaging/grafana/dashboard.json"
	alertsFile     = "packaging/prometheus/alerts.yml"
	alertTestsFile = "packaging/prometheus/alerts_test.yml"
)

// knownMetrics returns the labels of each metric of docs/metrics.md, which TestMetricsPage holds to a running service.
func knownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*?) \\|").FindAllStringSubmatch(string(page), -1) {
		known[row[1]] = strings.Split(strings.ReplaceAll(row[2], "`", ""), ", ")
	}
	if len(known) < 25 {
		t.Fatalf("docs/metrics.md has %d metrics; its form has changed", len(known))
	}
	return known
}

var (
	metricUsed = regexp.MustCompile(`\b(bailiff_\w+)(?:\{([^}]*)\})?`)
	labelUsed  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
)

// unknownMetrics returns what a text of expressions asks of the service that it does not have: metrics, and labels of them.
// Parts of histograms are known by their suffixes; instance, job and, on Kubernetes, namespace are Prometheus' own labels.
func unknownMetrics(text string, known map[string][]string) (found []string) {
	for _, use := range metricUsed.FindAllStringSubmatch(text, -1) {
		name, allowed := use[1], []string{"instance", "job", "namespace"}
		labels, ok := known[name]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, cut := strings.CutSuffix(name, suffix); cut && !ok {
				labels, ok = known[base]
				allowed = append(allowed, "le")
			}
		}
		if !ok {
			found = append(found, name)
			continue
		}
		for _, label := range labelUsed.FindAllStringSubmatch(use[2], -1) {
			if !slices.Contains(labels, label[1]) && !slices.Contains(allowed, label[1]) {
				found = append(found, fmt.Sprintf("%s{%s}", name, label[1]))
			}
		}
	}
	return found
}

// TestPackagedMetrics: the dashboard, the alerts and their tests name only metrics and labels that the service has.
func TestPackagedMetrics(t *testing.T) {
	known := knownMetrics(t)
	all := ""
	for _, name := range []string{dashboardFile, alertsFile, alertTestsFile} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(content), `\"`, `"`)
		all += text
		if found := unknownMetrics(text, known); len(found) > 0 {
			t.Errorf("%s names %q, which docs/metrics.md does not have", name, found)
		}
	}
	for _, planted := range [][2]string{{"bailiff_ready", "bailiff_redy"}, {"bailiff_ledger_sync_seconds_bucket", "bailiff_ledger_sync_second_bucket"}, {`{outcome="failed"`, `{outcom="failed"`}} {
		if changed := strings.Replace(all, planted[0], planted[1], 1); changed == all || len(unknownMetrics(changed, known)) == 0 {
			t.Errorf("%s in place of %s is not found", planted[1], planted[0])
		}
	}
	for name := range known {
		if !strings.Contains(all, name) && name != "bailiff_budget_limit" {
			t.Errorf("%s is in neither the dashboard nor an alert", name)
		}
	}
}

// TestDashboard holds the dashboard to what Grafana needs: panels with ids of their own, in places of their own, with queries.
func TestDashboard(t *testing.T) {
	content, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID, Title string
		Panels     []struct {
			ID          int
			Type, Title string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(content, &board); err != nil {
		t.Fatal(err)
	}
	if board.UID == "" || board.Title == "" || len(board.Panels) < 20 {
		t.Errorf("the dashboard %q has the uid %q and %d panels", board.Title, board.UID, len(board.Panels))
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %d, %q, has %d queries, or the id of another", p.ID, p.Title, len(p.Targets))
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q lies over %q, or beyond the 24 columns", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
}

// TestAlerts has Prometheus' own tool check the rules and run their tests, and the queries of the dashboard as rules.
func TestAlerts(t *testing.T) {
	promtool := debian.Program(t, "promtool", "prometheus")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Dir(alertsFile))); err != nil {
		t.Fatal(err)
	}
	tool := func(arguments ...string) (string, error) {
		command := exec.Command(promtool, arguments...)
		command.Dir = dir
		text, err := command.CombinedOutput()
		return string(text), err
	}
	if text, err := tool("check", "rules", "--lint-fatal", "alerts.yml"); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err := tool("test", "rules", "alerts_test.yml"); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	alerts, err := os.ReadFile(alertsFile)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(alertTestsFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(alerts), -1) {
		if !strings.Contains(string(tests), `alertname="`+name[1]+`"`) {
			t.Errorf("no test raises the alert %s", name[1])
		}
	}
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("dashboard.yml", dashboardRules(t))
	if text, err := tool("check", "rules", "dashboard.yml"); err != nil {
		t.Errorf("queries of the dashboard: %v\n%s", err, text)
	}
	// A threshold that is never reached is found by the tests, and an expression that is none by the check.
	put("alerts.yml", strings.Replace(string(alerts), "bailiff_holds_oldest_seconds > 600", "bailiff_holds_oldest_seconds > 600000", 1))
	if text, err := tool("test", "rules", "alerts_test.yml"); err == nil {
		t.Errorf("a planted threshold passes\n%s", text)
	}
	put("alerts.yml", strings.Replace(string(alerts), "bailiff_frozen == 1", "bailiff_frozen == )", 1))
	if text, err := tool("check", "rules", "alerts.yml"); err == nil {
		t.Errorf("a planted expression passes\n%s", text)
	}
}

// dashboardRules makes a file of rules of the dashboard's queries, with values for Grafana's variables.
func dashboardRules(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"expr": ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(content), -1)
	if len(found) < 20 {
		t.Fatalf("%d queries", len(found))
	}
	values := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	rules := "groups:\n  - name: dashboard\n    rules:\n"
	for i, query := range found {
		rules += fmt.Sprintf("      - {record: \"dashboard:%d\", expr: %s}\n", i, values.Replace(query[1])) // JSON's strings are YAML's
	}
	return rules
}
