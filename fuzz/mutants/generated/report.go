package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bailiff/fuzz/kit/reports"
	"bailiff/fuzz/kit/reviewed"
)

// The names of the page, and of the folder with the reports that it is made of.
const (
	pageName   = "mutation.md"
	folderName = "mutation"
)

// A report is the last run of a part.
type report struct {
	Part       string    `json:"part"`
	Commit     string    `json:"commit"`
	Began      time.Time `json:"began"`
	Minutes    float64   `json:"minutes"`
	Seed       uint64    `json:"seed"`
	Generated  int       `json:"generated"`
	Longest    string    `json:"longest,omitempty"` // tests that take longer were left out
	Digest     string    `json:"digest"`            // of their names
	Tried      int       `json:"tried"`
	Killed     int       `json:"killed"`
	TimedOut   int       `json:"timedOut"`
	Equivalent int       `json:"equivalent"`
	Alive      []string  `json:"alive"` // their names

	// WronglyReviewed names those of the killed that reviewed.txt had.
	WronglyReviewed []string `json:"wronglyReviewed,omitempty"`
}

// report is what a run of a part came to.
func (r *result) report(part, commit string, began time.Time, seed uint64) *report {
	out := &report{
		Part: part, Commit: commit, Began: began.UTC().Truncate(time.Second), Minutes: r.minutes, Seed: seed, Generated: r.generated, Digest: r.digest, Tried: r.tried,
		Killed: len(r.of(killed, false)), TimedOut: len(r.of(late, false)), Equivalent: len(r.of(alive, true)), Alive: []string{},
	}
	for _, v := range r.of(alive, false) {
		out.Alive = append(out.Alive, v.name())
	}
	for _, v := range r.wronglyReviewed() {
		out.WronglyReviewed = append(out.WronglyReviewed, v.name())
	}
	return out
}

// names are the mutants that are alive.
func (r *report) names() map[string]bool {
	all := map[string]bool{}
	for _, name := range r.Alive {
		all[name] = true
	}
	return all
}

// after makes of a run over those that were alive in another a report of both.
func (r *report) after(last *report) error {
	if r.Digest != last.Digest || r.Tried != len(last.Alive) {
		return fmt.Errorf("%s has other mutants than in its last report: run all of them again", r.Part)
	}
	r.Began, r.Seed, r.Tried = last.Began, last.Seed, last.Tried
	r.Minutes += last.Minutes
	r.Killed += last.Killed
	r.TimedOut += last.TimedOut
	r.Equivalent += last.Equivalent
	r.WronglyReviewed = slices.Concat(last.WronglyReviewed, r.WronglyReviewed)
	return nil
}

// aim is how many of the mutants that are neither equivalent nor timed out the tests should kill, in percent.
const aim = 98

// reaches reports whether so many are killed.
func (r *report) reaches() bool {
	return 100*r.Killed >= aim*(r.Tried-r.TimedOut-r.Equivalent)
}

// share is how many of the mutants that did not time out were killed, in percent.
func (r *report) share(of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(r.Killed)/float64(of))
}

// commit is that of the tree, with a mark where it was changed since.
func commit(root string) (string, error) {
	git := func(arguments ...string) (string, error) {
		command := exec.Command("git", arguments...)
		command.Dir = root
		output, err := command.Output()
		return strings.TrimSpace(string(output)), err
	}
	name, err := git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", fmt.Errorf("which commit is it? %w", err)
	}
	changes, err := git("status", "--porcelain", "--", ".", ":!docs/"+folderName, ":!docs/"+pageName)
	if err != nil {
		return "", fmt.Errorf("is the tree changed? %w", err)
	}
	if changes != "" {
		name += "+changes"
	}
	return name, nil
}

// write keeps a report below a folder of documents, and makes the page anew.
func (r *report) write(docs string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	dir := filepath.Join(docs, folderName)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(fileName(docs, r.Part), append(text, '\n'), 0o644); err != nil {
		return err
	}
	all, err := read(docs)
	if err != nil {
		return err
	}
	page, err := board(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, pageName), []byte(page), 0o644)
}

// fileName is where the report of a part is, below a folder of documents.
func fileName(docs, part string) string {
	return filepath.Join(docs, folderName, strings.ReplaceAll(part, "/", "-")+".json")
}

// readReport reads the last report of a part.
func readReport(docs, part string) (*report, error) {
	all, err := read(docs)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(all, func(r *report) bool { return r.Part == part }); i >= 0 {
		return all[i], nil
	}
	return nil, fmt.Errorf("%s has no report in %q", part, docs)
}

// read reads the reports below a folder of documents, by the names of their parts.
func read(docs string) ([]*report, error) {
	all, err := reports.Read(filepath.Join(docs, folderName), "make mutation", func(r *report) bool {
		_, known := parts[r.Part]
		return known && r.Tried == r.Killed+r.TimedOut+r.Equivalent+len(r.Alive)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *report) int { return cmp.Compare(a.Part, b.Part) })
	return all, nil
}

// writeWronglyReviewed lists the mutants that were killed and are still on the list of those that no test can kill.
func (r *report) writeWronglyReviewed(b *strings.Builder, reasons map[string]string) {
	names := slices.DeleteFunc(slices.Clone(r.WronglyReviewed), func(name string) bool { return reasons[name] == "" })
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Wrongly reviewed in `%s`\n\nThe list has these mutants, and tests kill them:\n\n", r.Part)
	for _, name := range names {
		fmt.Fprintf(b, "- %s\n", name)
	}
}

// board is the page.
func board(all []*report) (string, error) {
	reasons, err := reviewed.Read("reviewed.txt", reviewedText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`# Generated mutants

` + "`make mutation PKG=vm SAMPLE=500 SEED=1`" + ` makes an operator, a constant, a condition, a result or a statement of a part wrong, one at a time, and
runs the tests that reach it until one fails. It writes this page. "Equivalent" are mutants that were read and found to be the same program, or
to differ in nothing that the documents promise: [reviewed.txt](../fuzz/mutants/generated/reviewed.txt) has each with its reason. A mutant whose tests
take too long, or too much memory, is "timed out", and counts as neither killed nor alive. The first share is that of all others; the second leaves the equivalent ones
out as well.

| Part | Mutants | Tried | Killed | Timed out | Equivalent | Alive | Share | Without equivalents | Seed | Minutes | Commit | Began |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
`)
	for _, r := range all {
		seed := "all"
		if r.Tried < r.Generated {
			seed = fmt.Sprint(r.Seed)
		}
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d | %d | %d | %d | %s | %s | %s | %.0f | %s | %s |\n", r.Part, r.Generated, r.Tried, r.Killed, r.TimedOut, r.Equivalent, len(r.Alive),
			r.share(r.Tried-r.TimedOut), r.share(r.Tried-r.TimedOut-r.Equivalent), seed, r.Minutes, r.Commit, r.Began.Format("2006-01-02 15:04"))
	}
	fmt.Fprintf(&b, "\nThe list has %d mutants. The aim is a share of %d %% without equivalents.\n", len(reasons), aim)
	for _, name := range partNames() {
		i := slices.IndexFunc(all, func(r *report) bool { return r.Part == name })
		switch {
		case i < 0:
			fmt.Fprintf(&b, "\n`%s` was not tried.\n", name)
		case !all[i].reaches():
			fmt.Fprintf(&b, "\n`%s` is below the aim.\n", name)
		case all[i].Tried < all[i].Generated:
			fmt.Fprintf(&b, "\n`%s` reaches the aim in a sample.\n", name)
		}
	}
	for _, r := range all {
		r.writeWronglyReviewed(&b, reasons)
		if r.Longest != "" {
			fmt.Fprintf(&b, "\nThe run over `%s` was a first look: it left out the tests that take longer than %s, so some that are alive here\nare killed by those.\n", r.Part, r.Longest)
		}
		if len(r.Alive) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## Alive in `%s`\n\n[The report](%s) names each.\n\n| File | Alive |\n|---|---|\n", r.Part, fileName(".", r.Part))
		in := map[string]int{}
		for _, name := range r.Alive {
			file, _, _ := strings.Cut(name, ":")
			in[file]++
		}
		for _, file := range slices.Sorted(maps.Keys(in)) {
			fmt.Fprintf(&b, "| `%s` | %d |\n", file, in[file])
		}
	}
	return b.String(), nil
}
