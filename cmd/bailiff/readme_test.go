package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/policy"
	"bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/blocks"
	"bailiff/httpd"
	"bailiff/runtime/budget"
	"bailiff/runtime/gateway"
	"bailiff/runtime/holds"
	"bailiff/runtime/metrics"
	"bailiff/vm/errcode"
)

// TestReadme holds the README to the product: it shows the example policy as it is.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, _, err := policy.StarterOf("trader")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```warranty\n"+string(example)+"```\n") {
		t.Error("the policy in README.md is not cmd/bailiff/policy/example/warranty.md")
	}
}

// TestDocuments holds documents to the product: they name no subcommand, no flag and no setting that does not exist.
func TestDocuments(t *testing.T) {
	for _, page := range blocks.Pages(t, "../..") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		shell := false
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				shell = strings.HasPrefix(strings.TrimSpace(line), "```sh")
			}
			for _, fault := range documentFaults(line, shell) {
				t.Errorf("%s: %s", page, fault)
			}
		}
	}
	for _, wrong := range []string{"bailiff serf", "bin/bailiff keys list --jsonn", "set SVC_DATADIR", "bailiff keys lst", "x && bailiff keys lst"} {
		if len(documentFaults(wrong+"\n", true)) == 0 {
			t.Errorf("%q: nothing was found", wrong)
		}
	}
}

// TestBudgetsTable holds docs/operating.md to the budgets: each has a row with its unit, its bound and what is beyond it, and no
// row is of another one.
func TestBudgetsTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range budgetFaults(string(text)) {
		t.Error(fault)
	}
	for _, wrong := range [][2]string{
		{"| `storage` | bytes", "| `stored` | bytes"}, {"| 20 MiB of a free key |", "| |"}, {"256 MiB; 64 MiB of", "256 MiB; 65 MiB of"},
		{"| 256 MiB; 96 MiB of", "| 255 MiB; 96 MiB of"}, {"| 4,096, or", "| 4,095, or"},
	} {
		changed := strings.Replace(string(text), wrong[0], wrong[1], 1)
		if changed == string(text) || len(budgetFaults(changed)) == 0 {
			t.Errorf("%q: nothing was found", wrong)
		}
	}
}

// budgetFaults says what is wrong with a table of budgets.
func budgetFaults(text string) (faults []string) {
	_, table, _ := strings.Cut(text, "| Budget | Unit | Bound | Beyond it |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	bounds := map[string]string{}
	for row := range strings.Lines(table + "\n") {
		cells := strings.Split(strings.TrimSpace(row), " | ")
		if len(cells) != 4 || slices.ContainsFunc(cells, func(cell string) bool { return strings.Trim(cell, "| ") == "" }) {
			faults = append(faults, "not a row of four cells: "+row)
			continue
		}
		bounds[strings.Trim(cells[0], "|` ")] = cells[2]
	}
	for b := metrics.Budget(0); !strings.HasPrefix(b.String(), "Budget("); b++ {
		if bounds[b.String()] == "" {
			faults = append(faults, "no row of "+b.String())
		} else if want := boundOf(b); !strings.HasPrefix(bounds[b.String()], want) {
			faults = append(faults, fmt.Sprintf("%s has the bound %q, want %q", b, bounds[b.String()], want))
		}
		delete(bounds, b.String())
	}
	for name := range bounds {
		faults = append(faults, "no budget "+name)
	}
	return faults
}

// boundOf is how the bound of a budget begins, where other packages can see it.
func boundOf(b metrics.Budget) string {
	memory := func(b *budget.Budget) string {
		return fmt.Sprintf("%d MiB; %d MiB of one address", b.Most>>20, b.Share>>20)
	}
	switch b {
	case metrics.RequestBodies:
		return memory(httpd.NewBodies(time.Now, slog.New(slog.DiscardHandler)))
	case metrics.UpstreamAnswers:
		return memory(gateway.NewAnswers(time.Now, slog.New(slog.DiscardHandler)))
	case metrics.Waiting:
		return fmt.Sprintf("%d,%03d,", holds.MaxWaits/1000, holds.MaxWaits%1000)
	default:
		return ""
	}
}

// documentFaults says what is wrong with a line of a document, which may be one of a shell.
func documentFaults(line string, shell bool) (faults []string) {
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return !(r == '_' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') }) {
		family := strings.HasSuffix(word, "_") && strings.Contains(line, word+"<chainId>")
		if strings.HasPrefix(word, "SVC_") && word != "SVC_" && settings.RowOf(word) == nil && !family && !isCode(word) && len(settings.Unknown([]string{word + "="})) > 0 {
			faults = append(faults, "no setting "+word)
		}
	}
	if strings.Contains(line, "openssl") {
		return faults
	}
	_, after, found := strings.Cut(line, "bailiff ")
	if code := strings.HasSuffix(strings.TrimSuffix(line[:len(line)-len(after)], "bailiff "), "`"); found && (shell || code || strings.HasPrefix(line, "bailiff ")) {
		after, _, _ = strings.Cut(after, "`")
		faults = append(faults, commandFaults(strings.Fields(after))...)
	}
	return faults
}

// commandFaults says what is wrong with a command line, up to its redirection, pipe or comment. Words in capitals are
// for something.
func commandFaults(words []string) (faults []string) {
	if len(words) > 1 && words[1] == "1" {
		return nil // the first line of a file
	}
	if len(words) == 0 || strings.ToUpper(words[0]) == words[0] || strings.HasPrefix(words[0], "--") {
		return nil
	}
	name := []string{words[0]}
	usual := map[string]string{"events": "list", "bench": "run", "conform": "run"}[words[0]] // what these do by default
	if usual != "" && len(words) > 1 && strings.HasPrefix(words[1], "-") {
		name = append(name, usual)
	} else if len(words) > 1 && strings.Contains("keys holds approvers operator webhooks events attest mcp bench conform store", words[0]) && !strings.HasPrefix(words[1], "-") {
		name = append(name, words[1])
	}
	var help, problems strings.Builder
	if run(append(name, "--help"), cli.Streams{In: strings.NewReader(""), Out: &help, Err: &problems}) != cli.ExitDone {
		return []string{"no command bailiff " + strings.Join(name, " ") + ": " + problems.String()}
	}
	for _, word := range words {
		if strings.ContainsAny(word, ">|#;") {
			break
		}
		flag, _, _ := strings.Cut(strings.TrimRight(word, "'"), "=")
		either := "--[no-]" + strings.TrimPrefix(strings.TrimPrefix(flag, "--"), "no-")
		if strings.HasPrefix(flag, "--") && !strings.Contains(help.String(), flag) && !strings.Contains(help.String(), either) {
			faults = append(faults, "bailiff "+strings.Join(name, " ")+" has no "+flag)
		}
	}
	return faults
}

// isCode reports whether a word is a code of the API's answers.
func isCode(word string) bool {
	return slices.ContainsFunc(errcode.Table, func(row errcode.Info) bool { return string(row.Code) == word })
}
