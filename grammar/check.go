package grammar

import (
	"slices"
	"strconv"
	"strings"
)

// check reports what the productions take but the format does not. It reads the version, and takes out of
// the tree the sections of unknown name and the version lines that are in sections. A version line that was refused is
// not missing.
func (f *File) check(versionRefused bool) Diagnostics {
	var found collector
	f.checkVersion(&found, versionRefused)
	for _, entry := range f.Preamble {
		if entry.Key.Text != versionKey && (f.Version != nil || !resemblesVersion(entry)) {
			found.add(At(CodeNoSection, entry.Span, "this entry is before the first section").
				WithHint("move it below the heading that it belongs to; a heading has two signs, `## name`"))
		}
		checkValue(entry, &found)
	}
	checkStrays(f.Strays, &found)
	f.checkHeadings(&found)
	for _, section := range f.Sections {
		checkEntries(section, &found)
		checkStrays(section.Strays, &found)
	}
	return found.list
}

const versionKey = "version"

// checkVersion reads the version line and reports all that is wrong with it, or with a second one.
func (f *File) checkVersion(found *collector, refused bool) {
	versions := f.takeVersions()
	if len(versions) == 0 && !refused {
		if d, near := f.nearVersion(); near {
			found.add(d)
			return
		}
		found.add(f.missingVersion())
	}
	for i, entry := range versions {
		switch {
		case i > 0:
			found.add(At(CodeSecondVersion, entry.Span, "the version is given a second time").WithHint("remove this line"))
			continue
		case len(f.Preamble) == 0 || f.Preamble[0] != entry:
			found.add(At(CodeLateVersion, entry.Span, "the version line must come first").
				WithHint("only blank lines and comments may come before it"))
		}
		f.readVersion(entry, found)
	}
}

// missingVersion reports that there is no version line, on the first line that should be it.
func (f *File) missingVersion() Diagnostic {
	at := Span{}
	if len(f.Preamble) > 0 {
		at = f.Preamble[0].Span
	} else if len(f.Sections) > 0 {
		at = f.Sections[0].Heading.Span
	}
	start := strings.LastIndexByte(string(f.Source.Text[:at.Start]), '\n') + 1
	line := "version: " + DefaultVersion + "\n"
	if len(f.Preamble) == 0 {
		line += "\n"
	}
	return At(CodeNoVersion, at, "the version line is missing").
		WithHint("write `version: %s` as the first line, before all other entries and headings", DefaultVersion).
		WithFix(Span{start, start}, line)
}

// DefaultVersion is the version that a policy without one should have, if it has no key that is newer.
const DefaultVersion = "2.0.0"

// nearVersion reports a first line that is a misspelt version line, and how to write it. One without numbers, or with those
// of another format, has no fix.
func (f *File) nearVersion() (d Diagnostic, near bool) {
	if len(f.Preamble) == 0 || !resemblesVersion(f.Preamble[0]) {
		return d, false
	}
	entry := f.Preamble[0]
	d = At(CodeNoVersion, entry.Span, "the version line is written `version: X.Y.Z`, in small letters, with the version of the format")
	if entry.Value == nil {
		return d.WithHint("write `version: %s`", DefaultVersion), true
	}
	if meant, ok := meantVersion(entry.Value); ok {
		return d.WithHint("write `version: %s`", meant).WithFix(entry.Span, "version: "+meant), true
	}
	return d.WithHint("write `version: %s`; the supported versions are 1.x and 2.0 to 2.%d", DefaultVersion, newestMinor), true
}

// meantVersion returns the supported version that a value is but for quotes, a letter in front or a number that is missing.
func meantVersion(value *Value) (meant string, ok bool) {
	meant = strings.TrimPrefix(strings.ToLower(strings.Trim(value.Raw, `"'`)), "v")
	if strings.Count(meant, ".") == 1 {
		meant += ".0"
	}
	numbers, ok := versionNumbers(meant)
	return meant, ok && supported(numbers)
}

// resemblesVersion reports whether an entry's key is a misspelt `version`.
func resemblesVersion(entry *Entry) bool {
	return Closest(entry.Key.Text, []string{versionKey}) != ""
}

// takeVersions returns the version lines in order, wherever they are, and takes those out of the tree
// that are in sections.
func (f *File) takeVersions() []*Entry {
	var versions []*Entry
	isVersion := func(entry *Entry) bool {
		if entry.Key.Text != versionKey {
			return false
		}
		versions = append(versions, entry)
		return true
	}
	for _, entry := range f.Preamble {
		isVersion(entry)
	}
	for _, section := range f.Sections {
		section.Entries = slices.DeleteFunc(section.Entries, isVersion)
	}
	return versions
}

// readVersion reads X.Y.Z into f.Version, if it is supported.
func (f *File) readVersion(entry *Entry, found *collector) {
	value := entry.Value
	if value == nil {
		if len(entry.Block) > 0 { // else reported with all keys that have no value
			found.add(At(CodeBadVersion, entry.Span, "a block is not a version"))
		}
		return
	}
	numbers, ok := versionNumbers(value.Raw)
	if !ok {
		found.add(notVersion(value))
		return
	}
	version := &Version{Span: value.Span, Text: value.Raw, Major: numbers[0], Minor: numbers[1], Patch: numbers[2]}
	if !supported(numbers) {
		found.add(At(CodeOtherVersion, value.Span, "format version %s is not supported", value.Raw).
			WithHint("the supported versions are 1.x and 2.0 to 2.%d", newestMinor))
		return
	}
	f.Version = version
}

// notVersion reports what is no version. Where a part of one is there, the fix completes it.
func notVersion(value *Value) Diagnostic {
	d := At(CodeBadVersion, value.Span, "%s is not a version", shown(value.Raw))
	if meant, ok := meantVersion(value); ok {
		return d.WithHint("write `%s`", meant).WithFix(value.Span, meant)
	}
	return d.WithHint("write three numbers with dots between, such as %s", DefaultVersion)
}

// supported reports whether this package reads a version of the format.
func supported(numbers [3]int) bool {
	return numbers[0] == 1 || numbers[0] == 2 && numbers[1] <= newestMinor
}

// newestMinor is the last supported format of 2.x.
const newestMinor = 4

// versionNumbers reads three numbers without leading zeros, of at most six digits each.
func versionNumbers(text string) (numbers [3]int, ok bool) {
	parts := strings.SplitN(text, ".", len(numbers)+1)
	if len(parts) != len(numbers) {
		return numbers, false
	}
	for i, part := range parts {
		number, err := strconv.ParseUint(part, 10, 32)
		if err != nil || len(part) > 6 || strconv.FormatUint(number, 10) != part {
			return numbers, false
		}
		numbers[i] = int(number)
	}
	return numbers, true
}

// checkHeadings reports unknown and repeated sections. An unknown one is read as the one that it was most likely meant
// to be, so that what is wrong below it comes out too; where that one is there already, or none is near, it is left
// out of the tree.
func (f *File) checkHeadings(found *collector) {
	seen, present := map[string]bool{}, map[string]bool{}
	for _, section := range f.Sections {
		present[section.Name] = true
	}
	f.Sections = slices.DeleteFunc(f.Sections, func(section *Section) bool {
		switch {
		case section.Name == "":
			return true // its heading was refused
		case !isSection(section.Name):
			found.add(unknownSection(section.Heading))
			near := closestSection(section.Heading.Text)
			if near == "" || near == signatureSection || present[near] {
				return true
			}
			section.Name = near
			present[near] = true
		case section.Name != lowerASCII(section.Heading.Text):
			found.add(At(CodeSectionLetters, section.Heading.Span, "section %s has %s, which is not an ASCII letter", shown(section.Heading.Text), Foreign(section.Heading.Text)).
				WithHint("write `%s`", section.Name).WithFix(section.Heading.Span, section.Name))
		}
		if seen[section.Name] {
			found.add(At(CodeSecondSection, section.Heading.Span, "section %s is repeated", shown(section.Name)).
				WithHint("move its entries to the first one"))
		}
		seen[section.Name] = true
		return false
	})
}

func unknownSection(heading Segment) Diagnostic {
	d := At(CodeUnknownSection, heading.Span, "there is no section %s", shown(heading.Text))
	switch near := closestSection(heading.Text); near {
	case "":
	case signatureSection: // no fix makes what follows a signature
		return d.WithHint("did you mean `%s`? It comes from signing the policy", near)
	default:
		return d.WithHint("did you mean `%s`?", near).WithFix(heading.Span, near)
	}
	hint := "the sections are " + strings.Join(sectionNames, ", ")
	if other := Foreign(heading.Text); other != "" {
		hint = other + " is not an ASCII letter; " + hint
	}
	return d.WithHint("%s", hint)
}

// otherSections are what a section is called that is not spelled nearly so.
var otherSections = map[string]string{
	"tool": "tool_calls", "tools": "tool_calls", "ethereum": "evm", "repo": "repository",
	"fs": "filesystem", "files": "filesystem", "db": "database", "databases": "database",
}

// closestSection returns the section that an unknown heading was most likely meant to be, or "".
func closestSection(name string) string {
	if near := Closest(name, sectionNames); near != "" {
		return near
	}
	return otherSections[strings.ToLower(name)]
}

// checkEntries reports keys without a value and repeated keys.
func checkEntries(section *Section, found *collector) {
	seen := make(map[string]bool, len(section.Entries))
	for _, entry := range section.Entries {
		checkValue(entry, found)
		checkLookalikes(entry.Value, found)
		for _, line := range entry.Block {
			checkLookalikes(line.Value, found)
		}
		key := entry.Key.String()
		if seen[key] && !accumulates(section.Name, entry.Key) {
			found.add(At(CodeSecondKey, entry.Key.Span, "key %s is repeated", shown(key)).
				WithHint("keep one of the lines; what it allows and denies is said once"))
		}
		seen[key] = true
	}
}

func checkValue(entry *Entry, found *collector) {
	if entry.Value == nil && len(entry.Block) == 0 {
		d := At(CodeNoValue, entry.Span, "key %s has no value", shown(entry.Key.Text)).
			WithHint("write the value after the colon")
		if entry.Key.Text == "chain_actions" {
			d = d.WithHint("write the chains below it, indented: `  \"8453\": wallet.transfer`")
		}
		found.add(d)
	}
}

func checkStrays(lines []*BlockLine, found *collector) {
	for _, line := range lines {
		found.add(At(CodeStrayBlockLine, line.Span, "a numeric line belongs into a block").
			WithHint("put it below a key that is alone on its line"))
	}
}
