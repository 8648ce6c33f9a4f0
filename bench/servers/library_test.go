package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bailiff/fuzz/kit/page"
)

// engineRow is a row of the table that bench/peers writes into the page: an engine, and what it takes to allow and to deny.
var engineRow = regexp.MustCompile(`(?m)^\| ([^|]+) \| ([0-9.]+)(k?) \| ([0-9.]+)(k?) \| \d+ \|`)

// library draws the table of the engines.
func library(results string) ([]byte, error) {
	_, rest, _ := strings.Cut(results, "<!-- peers -->")
	part, _, _ := strings.Cut(rest, "<!-- /peers -->")
	var labels []string
	allows, denies := series{name: "allowed", colour: blue}, series{name: "denied", colour: amber}
	for _, found := range engineRow.FindAllStringSubmatch(part, -1) {
		labels = append(labels, strings.ReplaceAll(found[1], "`", "")+strings.Repeat(" ", 10)) // room for fonts that are wider
		allows.values = append(allows.values, millions(found[2], found[3]))
		denies.values = append(denies.values, millions(found[4], found[5]))
	}
	if len(labels) < 2 {
		return nil, fmt.Errorf("the table of the engines has %d rows", len(labels))
	}
	return draws("million answers a second on one core, in the same process", labels, allows, denies)
}

// millions is how many million answers a second are of one that takes so many nanoseconds, or thousands of them.
func millions(digits, thousand string) float64 {
	nanoseconds, _ := strconv.ParseFloat(digits, 64) // of digits
	if thousand != "" {
		nanoseconds *= 1000
	}
	return 1000 / nanoseconds
}

// TestPageLibrary holds the picture of the engines to their table.
func TestPageLibrary(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	svg, err := library(string(text))
	if err != nil {
		t.Fatal(err)
	}
	page.Whole(t, filepath.Join("plots", "library.svg"), rewrite, string(svg))
	if other, err := library(regexp.MustCompile(`(?m)^\| expr \| \d+`).ReplaceAllString(string(text), "| expr | 777")); err != nil || string(other) == string(svg) {
		t.Errorf("another figure of the table draws the same picture: %v", err)
	}
	if _, err := library("<!-- peers -->\n"); err == nil {
		t.Error("a page without a table is drawn")
	}
}

// unshown are the pictures that a page does not show before its first heading below the title and its first table.
func unshown(results string, pictures []string) (missing []string) {
	if end := regexp.MustCompile(`(?m)^(## |\|)`).FindStringIndex(results); end != nil {
		results = results[:end[0]]
	}
	for _, name := range pictures {
		if !strings.Contains(results, "](servers/plots/"+name+")") {
			missing = append(missing, name)
		}
	}
	return missing
}

// TestPicturesFirst: the page begins with the pictures, all that there are.
func TestPicturesFirst(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "RESULTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("plots")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var pictures []string
	for _, file := range files {
		pictures = append(pictures, file.Name())
	}
	if missing := unshown(string(text), pictures); len(missing) > 0 {
		t.Errorf("bench/RESULTS.md does not begin with %q", missing)
	}
	for _, planted := range []string{"# Results\n\n| a |\n", "# Results\n\n## Before\n\n"} {
		if missing := unshown(planted+string(text), pictures); !slices.Equal(missing, pictures) {
			t.Errorf("with a table or a heading before the pictures, %q are missing", missing)
		}
	}
}
