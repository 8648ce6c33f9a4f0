package compiler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bailiff/compiler/codes"
	"bailiff/compiler/frame"
	"bailiff/grammar"
	"bailiff/vm"
	"bailiff/vm/slot"
	"bailiff/vm/slot/derived"
)

// What a policy may weigh (decisions, section 8). What binds is worked out from the program alone, so that every machine
// says the same of a text.
const (
	// maxMemory is how many bytes a compiled program keeps live at most: regular expressions and their runes included.
	maxMemory = 8 << 20
	// maxEffort is how long judging one request takes at most, by the machine's own table of costs.
	maxEffort = 50 * time.Millisecond
	// maxRequest is the most bytes that the values of a request have, which those costs are worked out for.
	maxRequest = 100_000
)

// An Effort is what judging a request takes at most, by the machine's own costs: a step is about a nanosecond.
type Effort struct {
	fixed, perByte, perSubject int
}

// Of returns what judging a request of that many bytes takes at most.
func (e Effort) Of(bytes int) time.Duration {
	return time.Duration(e.fixed + e.perByte*bytes + e.perSubject*min(bytes, vm.MaxSubject))
}

// EffortOf returns what judging a request by a program takes at most. The texts of a request are shared by the slots that
// are filled from them: it assumes that all of them are where the program looks most.
func EffortOf(p *vm.Program) Effort {
	families := map[string]int{}
	effort := Effort{fixed: p.Cost().Fixed}
	for pc := range p.Len() {
		rate := rateOf(p, uint16(pc))
		families[rate.family] += rate.perByte
		effort.perSubject += rate.perSubject
		effort.fixed += rate.texts
	}
	most := 0
	for family, perByte := range families {
		if family != slot.All {
			most = max(most, perByte)
		}
	}
	effort.perByte = most + families[slot.All]
	return effort
}

// A rate is what an instruction takes for the texts of its slot.
type rate struct {
	family              string
	fixed               int
	texts               int // for all texts, where they are bounded
	perByte, perSubject int // for each byte, and each of the first vm.MaxSubject
}

func rateOf(p *vm.Program, pc uint16) rate {
	effort := p.Effort(pc)
	if effort.Slot == vm.NoSlot {
		return rate{fixed: effort.Fixed + effort.Each}
	}
	source := derived.SourceOf(p.Fields()[effort.Slot])
	r := rate{family: source.Family, fixed: effort.Fixed + effort.Each}
	perByte := effort.PerByte
	if !source.One { // an element takes a byte more of a request at least, and a comma
		const short = 4 // steps for a text that is told at once
		perByte = max(perByte+short, effort.Each/(effort.Short+2))
	}
	switch {
	case source.One && effort.Reach > 0 && effort.Reach < vm.MaxSubject:
		r.texts = perByte * effort.Reach
	case source.One && source.Most > 0:
		r.texts = perByte * source.Most
	case source.One && effort.Reach > 0:
		r.perSubject = source.Share * perByte
	case source.Most > 0:
		r.texts = perByte * source.Most
	default:
		r.perByte = source.Share * perByte
	}
	return r
}

// weigh reports a program that takes too much memory or time: an error of a text that is to be put in force.
func weigh(e *frame.Emitter, p *vm.Program, file *grammar.File) (found grammar.Diagnostics) {
	if p.Memory() > maxMemory {
		found = append(found, tooHeavy(e, p.Weights(), file))
	}
	if took := EffortOf(p).Of(maxRequest); took > maxEffort {
		found = append(found, tooSlow(e, p, took, file))
	}
	return found
}

// tooHeavy is the finding about a program that keeps too much live.
func tooHeavy(e *frame.Emitter, weights []vm.Weight, file *grammar.File) grammar.Diagnostic {
	var lines []weightOfLine
	for _, w := range weights {
		lines = append(lines, weightOfLine{w.Line, float64(w.Bytes) / (1 << 10)})
	}
	span, hint := emitRemedy(e, lines, file, "use `contains`, `starts_with` or lists in place of patterns, and simpler patterns where they count far or name Unicode classes")
	return grammar.At(codes.Memory, span, "the compiled policy takes more than %d MiB of memory; %s", maxMemory>>20, heaviestLines(lines, "%.0f KiB")).
		WithHint("%s", hint)
}

// tooSlow is the finding about a program that may take too long to judge a request.
func tooSlow(e *frame.Emitter, p *vm.Program, took time.Duration, file *grammar.File) grammar.Diagnostic {
	lines := effortLines(p)
	span, hint := emitRemedy(e, lines, file, "lower the counted repetitions of patterns (`.{0,300}`), use `contains` or `starts_with` in their place, and look at fewer lists by patterns")
	return grammar.At(codes.Effort, span, "judging one request by this policy can take %s; at most %s are allowed; %s",
		took.Round(time.Millisecond), maxEffort, heaviestLines(lines, "%.0f ms")).
		WithHint("%s", hint)
}

// effortLines returns the most that each line takes of judging a request, in milliseconds, the heaviest first.
func effortLines(p *vm.Program) (lines []weightOfLine) {
	byLine := map[int]int{}
	for pc := range p.Len() {
		r := rateOf(p, uint16(pc))
		byLine[int(p.Span(uint16(pc)).Line)] += r.fixed + r.texts + r.perByte*maxRequest + r.perSubject*vm.MaxSubject
	}
	for line, steps := range byLine {
		lines = append(lines, weightOfLine{line, float64(steps) / float64(time.Millisecond)})
	}
	slices.SortFunc(lines, func(a, b weightOfLine) int { return cmp.Or(cmp.Compare(b.amount, a.amount), a.line-b.line) })
	return lines
}

// A weightOfLine is what a line of the policy takes of a budget.
type weightOfLine struct {
	line   int // 0 where it is not known
	amount float64
}

// heaviestLines names the lines that take most.
func heaviestLines(lines []weightOfLine, unit string) string {
	const most = 3
	var parts []string
	for _, l := range lines[:min(most, len(lines))] {
		parts = append(parts, fmt.Sprintf("line %d (about "+unit+")", l.line, l.amount))
	}
	if len(parts) == 0 {
		return "its lists take most"
	}
	return "most of it is for " + strings.Join(parts, ", ")
}

// emitRemedy returns where the heaviest line is, and what to do: what helps a long list, if that is one, else hint.
func emitRemedy(e *frame.Emitter, lines []weightOfLine, file *grammar.File, hint string) (grammar.Span, string) {
	for _, section := range file.Sections {
		for _, entry := range section.Entries {
			if len(lines) == 0 || e.Line(entry.Key.Span) != lines[0].line {
				continue
			}
			if entry.Value != nil && len(entry.Value.Items) >= longList {
				hint = remedyForList(section.Name, entry.Key.Text)
			}
			return entry.Key.Span, hint
		}
	}
	return e.Version.Span, hint
}

// refused is the finding about a policy whose program was not made.
func refused(e *frame.Emitter, file *grammar.File, err error) grammar.Diagnostics {
	var heavy *vm.MemoryError
	switch {
	case errors.Is(err, vm.ErrStopped):
		return grammar.Diagnostics{tooLong(e.Version)}
	case errors.As(err, &heavy):
		return grammar.Diagnostics{tooHeavy(e, heavy.Heavy, file)}
	}
	return grammar.Diagnostics{tooLarge(e.Version, file, err)}
}

// tooLong is the finding about a policy that takes too long to compile.
func tooLong(version *grammar.Version) grammar.Diagnostic {
	return grammar.At(codes.CompileTime, version.Span, "the policy takes longer to compile than it may").
		WithHint("shorten its lists, and use fewer and simpler patterns; `bailiff check` has no such limit, and says what else is wrong")
}

// longList is how many items a list has that is likely what weighs too much.
const longList = 100

// tooLarge reports that the machine does not take a policy. It points at the longest list, if there is a long one:
// mostly that is what is too much.
func tooLarge(version *grammar.Version, file *grammar.File, err error) grammar.Diagnostic {
	problem := strings.TrimPrefix(err.Error(), "vm: ")
	section, entry := longestList(file)
	if entry == nil || len(entry.Value.Items) < longList {
		return grammar.At(codes.TooLarge, version.Span, "the machine does not take this policy: %s", problem).
			WithHint("use fewer rules, or divide what they govern among several keys, each with a policy of its own")
	}
	return grammar.At(codes.TooLarge, entry.Key.Span, "the machine does not take this policy, of which the %d items of `%s` are the longest list: %s",
		len(entry.Value.Items), frame.Shorten(entry.Key.Text), problem).
		WithHint("%s", remedyForList(section, entry.Key.Text))
}

// longestList returns the entry with the most items, and its section; nil where no entry has any.
func longestList(file *grammar.File) (section string, longest *grammar.Entry) {
	for _, s := range file.Sections {
		for _, entry := range s.Entries {
			if entry.Value != nil && (longest == nil || len(entry.Value.Items) > len(longest.Value.Items)) {
				section, longest = s.Name, entry
			}
		}
	}
	return section, longest
}

// remedyForList returns how one entry of a list can take the place of several.
func remedyForList(section, key string) string {
	const otherwise = ", or divide what it governs among several keys, each with a policy of its own"
	switch key {
	case "file_write.blocked_paths", "file_read.blocked_paths", "blocked_paths":
		return "block a folder instead of the files below it, and write whole paths where they are known: names that match anywhere (`.env`, `~/x`) cost most" + otherwise
	case "web_fetch.blocked_domains":
		return "block a domain in place of its subdomains" + otherwise
	case "email.allowed_recipients", "email.blocked_recipients":
		return "write `*@example.com` in place of the addresses of a domain" + otherwise
	}
	if section == "mcp" {
		return "write `server.*` in place of the tools of a server" + otherwise
	}
	return "shorten the list" + otherwise
}
