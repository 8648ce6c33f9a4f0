package policy

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"bailiff/cmd/bailiff/cli"
	"bailiff/cmd/bailiff/policy/report"
	"bailiff/compiler/codes"
	"bailiff/grammar"
	"bailiff/vm/errcode"
)

type explainCodeCommand struct {
	Codes []string `arg:"" optional:"" name:"code" help:"A code, such as E2001 of a finding or SVC_RATE_LIMITED of an answer, in any case, or a rule, such as evm.max_transaction_eth; without one all codes are listed."`
}

// explained is a code or a rule that there is a page about.
type explained struct{ code, title, page string }

// Run prints the page of each code, or the list of all codes.
func (c *explainCodeCommand) Run(std cli.Streams) error {
	table := slices.Concat(explainedFindings(), explainedAnswers())
	if len(c.Codes) == 0 {
		return listCodes(std.Out, table)
	}
	for i, name := range c.Codes {
		found, err := findCode(table, name)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(std.Out)
		}
		if _, err := io.WriteString(std.Out, found.page); err != nil {
			return err
		}
	}
	return nil
}

func explainedFindings() (all []explained) {
	for _, info := range codeTable() {
		all = append(all, explained{string(info.Code), info.Title, report.Page(info)})
	}
	return all
}

func explainedAnswers() (all []explained) {
	for _, info := range errcode.Table {
		all = append(all, explained{string(info.Code), info.Meaning, answerPage(info)})
	}
	return all
}

// answerPage returns all there is to say about the error code of an answer, as text for people.
func answerPage(info errcode.Info) string {
	return fmt.Sprintf("%s: %s\n\n%s\n\nWhat to do: %s\n\nSend the same request again? %s.\n",
		info.Code, info.Meaning, carrier(info), info.Remedy.Do, upperFirst(info.Remedy.Retry.String()))
}

// carrier says which answers carry a code.
func carrier(info errcode.Info) string {
	switch {
	case info.Class != errcode.Failure:
		return fmt.Sprintf("HTTP %d with status %s; 200 on test-run.", info.HTTP, info.Status)
	case info.HTTP == http.StatusOK:
		return "HTTP 200, as a JSON-RPC error of a gateway."
	case info.HTTP < http.StatusInternalServerError:
		return fmt.Sprintf("HTTP %d with status %s; on authorize and test-run with DENIED.", info.HTTP, info.Status)
	}
	return fmt.Sprintf("HTTP %d with status %s.", info.HTTP, info.Status)
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// codeTable returns the definitions of all diagnostics, with what mends them.
func codeTable() []grammar.CodeInfo {
	table := slices.Concat(grammar.Codes(), codes.All())
	for i := range table {
		table[i].Explanation += aboutFixes(&table[i])
	}
	return grammar.InOrder(table)
}

func listCodes(w io.Writer, table []explained) error {
	for _, one := range table {
		if _, err := fmt.Fprintf(w, "%s  %s\n", one.code, one.title); err != nil {
			return err
		}
	}
	return nil
}

// wirePrefixes begin the codes of answers; a name may leave them out.
var wirePrefixes = []string{"", "SVC_", "SVC_POLICY_VIOLATION_"}

// findCode returns the row of a code or rule, or a usage error that names the nearest one.
func findCode(table []explained, name string) (explained, error) {
	for _, one := range table {
		for _, prefix := range wirePrefixes {
			if strings.EqualFold(one.code, prefix+name) {
				return one, nil
			}
		}
	}
	if rule, found := findRule(name); found {
		return rule, nil
	}
	what, names := "code", codesOf(table)
	if strings.Contains(name, ".") {
		what, names = "rule", ruleNames()
	}
	if near := nearest(name, names); near != "" {
		return explained{}, cli.Usage("there is no %s %s; did you mean %s?", what, grammar.Visible(name), near)
	}
	return explained{}, cli.Usage("there is no %s %s; bailiff explain-code lists all codes, and the policy reference all rules", what, grammar.Visible(name))
}

func codesOf(table []explained) (codes []string) {
	for _, one := range table {
		codes = append(codes, one.code)
	}
	return codes
}

// nearest returns the name that has most words in common with another, at least half of all, and else the one that is
// nearest by letters; "" where none is near.
func nearest(name string, names []string) string {
	best, most := "", 0.5
	words := wordsOf(name)
	for _, candidate := range names {
		others, common := wordsOf(candidate), 0
		for _, word := range words {
			if slices.ContainsFunc(others, func(other string) bool { return len(word) > 2 && grammar.Misspelt(word, other) }) {
				common++
			}
		}
		if all := len(words) + len(others) - common; all > 0 && float64(common)/float64(all) >= most && common > 0 {
			if score := float64(common) / float64(all); best == "" || score > most {
				best, most = candidate, score
			}
		}
	}
	if best == "" {
		return grammar.Closest(name, names)
	}
	return best
}

// wordsOf returns the words of a name without those of the wire's prefixes, which tell no code from another.
func wordsOf(name string) []string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '.' || r == '-' })
	return slices.DeleteFunc(words, func(word string) bool { return word == "svc" || word == "policy" || word == "violation" })
}
