package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// The marks between which the tables are in the file of results.
const (
	openMark  = "<!-- peers -->"
	closeMark = "<!-- /peers -->"
)

// tables writes both tables as Markdown.
func tables(rows []row, figures []figure) string {
	var b strings.Builder
	b.WriteString("| all ten rules evaluated | ALLOWED ns | DENIED ns | allocations | compile µs | of Bailiff | of the floor |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	floor := floorOf(rows)
	for _, r := range rows {
		compile := "–"
		if r.name != floorName {
			compile = number3(r.compile.micros())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.0f | %s | %s | %s |\n", r.name,
			number3(r.allowed.nanoseconds()), number3(r.denied.nanoseconds()), r.allowed.allocations, compile,
			ratio(r, rows[baseline]), ratio(r, floor))
	}
	b.WriteString("\n| Bailiff, the rules in their sections | ns | allocations |\n|---|---|---|\n")
	for i, f := range figures {
		fmt.Fprintf(&b, "| %s | %s | %.0f |\n", kinds[i].name, number3(f.nanoseconds()), f.allocations)
	}
	return b.String()
}

func floorOf(rows []row) row {
	for _, r := range rows {
		if r.name == floorName {
			return r
		}
	}
	return row{}
}

// ratio is how many times as long one row's answers take as the other's, allowed and denied together: the median of
// the rounds' ratios, because the machine is as fast for both within a round and not from one to the next.
func ratio(one, other row) string {
	ratios := make([]float64, len(one.allowed.rounds))
	for i := range ratios {
		ratios[i] = one.turn(i) / other.turn(i)
	}
	if ratio := median(ratios); ratio >= 10 {
		return fmt.Sprintf("%.0f", ratio)
	}
	return fmt.Sprintf("%.1f", median(ratios))
}

// turn is what both answers took in one round.
func (r row) turn(round int) float64 { return r.allowed.rounds[round] + r.denied.rounds[round] }

// number3 writes a figure with about three digits, which is more than a shared machine can tell.
func number3(value float64) string {
	switch {
	case value < 10:
		return fmt.Sprintf("%.1f", value)
	case value < 10_000:
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.1fk", value/1000)
}

// insert puts a text between the marks of a file, which has to have them, once and in order.
func insert(path, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, opened := bytes.Cut(old, []byte(openMark))
	_, after, closed := bytes.Cut(rest, []byte(closeMark))
	if !opened || !closed {
		return fmt.Errorf("%s has no place for the tables; put the lines %s and %s into it", path, openMark, closeMark)
	}
	whole := string(before) + openMark + "\n" + text + closeMark + string(after)
	return os.WriteFile(path, []byte(whole), 0o644)
}
