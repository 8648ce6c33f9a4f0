package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"bailiff/runtime/code"
)

// TestReadme holds the README to the product: it shows the example policy as it is.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	for line := range strings.Lines(string(examplePolicy)) {
		if line != "\n" {
			line = "    " + line
		}
		shown += line
	}
	if !strings.Contains(string(readme), shown) {
		t.Error("the policy in README.md is not cmd/bailiff/example/warranty.md, indented by four spaces")
	}
}

// TestDocuments holds documents to the product: they name no subcommand, no flag and no setting that does not exist.
func TestDocuments(t *testing.T) {
	for _, name := range []string{"README.md", "docs/operating.md"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			for _, fault := range documentFaults(line) {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
	for _, wrong := range []string{"bailiff serf", "    bin/bailiff keys list --jsonn", "set SVC_DATADIR", "bailiff keys lst"} {
		if len(documentFaults(wrong+"\n")) == 0 {
			t.Errorf("%q: nothing was found", wrong)
		}
	}
}

// documentFaults says what is wrong with a line of a document.
func documentFaults(line string) (faults []string) {
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return !(r == '_' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') }) {
		family := strings.HasSuffix(word, "_") && strings.Contains(line, word+"<chainId>")
		if strings.HasPrefix(word, "SVC_") && rowOf(word) == nil && !family && !isCode(word) && len(unknownSettings([]string{word + "="})) > 0 {
			faults = append(faults, "no setting "+word)
		}
	}
	if strings.Contains(line, "openssl") {
		return faults
	}
	_, after, found := strings.Cut(line, "bailiff ")
	indented := strings.HasPrefix(line, "    ")
	if code := strings.HasSuffix(strings.TrimSuffix(line[:len(line)-len(after)], "bailiff "), "`"); found && (indented || code || strings.HasPrefix(line, "bailiff ")) {
		after, _, _ = strings.Cut(after, "`")
		faults = append(faults, commandFaults(strings.Fields(after))...)
	}
	return faults
}

// commandFaults says what is wrong with a command line, up to its redirection, pipe or comment. Words in capitals stand
// for something.
func commandFaults(words []string) (faults []string) {
	if len(words) == 0 || strings.ToUpper(words[0]) == words[0] || strings.HasPrefix(words[0], "--") {
		return nil
	}
	name := []string{words[0]}
	if words[0] == "events" && len(words) > 1 && strings.HasPrefix(words[1], "-") {
		name = append(name, "list") // what events does by default
	} else if len(words) > 1 && strings.Contains("keys holds webhooks events attest", words[0]) && !strings.HasPrefix(words[1], "-") {
		name = append(name, words[1])
	}
	var help, problems strings.Builder
	if run(append(name, "--help"), streams{strings.NewReader(""), &help, &problems}) != exitDone {
		return []string{"no command bailiff " + strings.Join(name, " ") + ": " + problems.String()}
	}
	for _, word := range words {
		if strings.ContainsAny(word, ">|#;") {
			break
		}
		flag, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(flag, "--") && !strings.Contains(help.String(), flag) {
			faults = append(faults, "bailiff "+strings.Join(name, " ")+" has no "+flag)
		}
	}
	return faults
}

// isCode reports whether a word is a code of the API's answers.
func isCode(word string) bool {
	return slices.ContainsFunc(code.Table, func(row code.Info) bool { return string(row.Code) == word })
}
