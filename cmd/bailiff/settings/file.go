package settings

import (
	"fmt"
	"slices"
	"strings"

	"bailiff/cmd/bailiff/cli"
)

// fileName is the setting that names the file of further ones.
const fileName = "SVC_SETTINGS_FILE"

// nameLetters are those of names of settings.
const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// maxFileBytes bounds the file of settings.
const maxFileBytes = 1 << 20

// Load reads the settings of an environment of NAME=value, and of the file that it names.
func Load(environ []string) (*Settings, error) {
	path := ""
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, fileName+"="); found {
			path = value
		}
	}
	if path == "" {
		return Read(environ)
	}
	text, err := cli.ReadFile(path, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fileName, err)
	}
	lines, err := readFile(path, string(text), environ)
	if err != nil {
		return nil, err
	}
	return Read(slices.Concat(environ, lines))
}

// readFile reads a file of settings: a line is empty, begins with #, or is NAME=value with the value as it is. A setting is either
// there or in the environment, which never changes and would hide what SIGHUP reads again. Messages have no values.
func readFile(path, text string, environ []string) (entries []string, err error) {
	at := map[string]string{} // where each setting is
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); value != "" {
			at[name] = "the environment"
		}
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		fault := ""
		switch {
		case !found:
			fault = "it is not NAME=value"
		case strings.Trim(name, nameLetters) != "": // it may be a part of a secret
			fault = "it is not NAME=value"
		case name == fileName || RowOf(name) == nil:
			fault = fmt.Sprintf("%.64q is not a setting that a file can have; bailiff serve --help lists them", name)
		case value != "" && strings.ContainsAny(value[:1], `"'`):
			fault = "the value of " + name + " begins with a quote; write it without quotes"
		case at[name] != "":
			fault = fmt.Sprintf("%s is set in %s as well; remove one of them", name, at[name])
		}
		if fault != "" {
			return nil, fmt.Errorf("%s: line %d: %s", path, i+1, fault)
		}
		at[name] = fmt.Sprintf("line %d", i+1)
		entries = append(entries, name+"="+value)
	}
	return entries, nil
}
