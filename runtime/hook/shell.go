package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"bailiff/vm/slot"
)

// The members of inputs that say which shell reads a command, and in which environment.
var (
	shellNames       = []string{"shell", "shell_path", "shellPath", "executable"}
	environmentNames = []string{"env", "environment", "env_vars"}
)

// readers are the shells that read a command as it is judged.
var readers = []string{"bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"}

// powerShell is the line in front of a command that PowerShell reads: its quotes and separators are not those of bash, so that a
// list of allowed commands has to allow PowerShell itself.
const powerShell = "pwsh -Command -\n"

// beforeCommand returns the lines that belong in front of a command: those that set the variables that its input names, as a
// shell would, and the one that says that PowerShell reads it. Another shell than bash cannot be judged.
func (b *builder) beforeCommand() (string, error) {
	for _, name := range shellNames {
		value := b.event.input.get(name)
		if value == nil || value.Kind() == 't' || value.Kind() == 'f' {
			continue
		}
		shell, ok := textOf(value)
		if !ok {
			return "", fmt.Errorf("%s is not a string", name)
		}
		if shell != "" && !slices.Contains(readers, shell) {
			return "", fmt.Errorf("%s is %.64q, and commands are judged as bash reads them; leave it out, or name one of %s", name, shell, strings.Join(readers, ", "))
		}
	}
	lines, err := b.exports()
	if err == nil && strings.Contains(strings.ToLower(b.event.Tool.Name), "powershell") {
		lines += powerShell
	}
	return lines, err
}

// exports returns the lines that set the environment of a command.
func (b *builder) exports() (string, error) {
	var lines strings.Builder
	for _, name := range environmentNames {
		variables, err := b.event.input.object(name)
		if err != nil {
			return "", err
		}
		for _, variable := range variables {
			value, ok := textOf(variable.value)
			if !ok || !isVariable(variable.name) {
				return "", fmt.Errorf("%s has a variable whose value is not a string, or whose name is not one of letters, digits and underscores", name)
			}
			lines.WriteString("export " + variable.name + "=" + quoted(value) + "\n")
		}
	}
	return lines.String(), nil
}

// isVariable reports whether a text is the name of a shell's variable.
func isVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isID(c) || c == '-' || i == 0 && '0' <= c && c <= '9' {
			return false
		}
	}
	return name != ""
}

// shell asks about a command. Of the other members only the switches that are on are told, because the rest, such as a
// description, would make each repetition another intent.
func (b *builder) shell() error {
	from := b.event.Tool.From
	command, err := commandOf(b.event.input.get(from))
	switch {
	case err != nil:
		return fmt.Errorf("%s %w", from, err)
	case command == "" && b.event.Tool.Maybe:
		return b.other()
	case command == "":
		return fmt.Errorf("%s, the command, is missing", from)
	}
	before, err := b.beforeCommand()
	if err != nil {
		return err
	}
	b.intent.add("action", slot.BashAction)
	if err := b.workFolder(); err != nil {
		return err
	}
	b.intent.add("command", before+command)
	var on object
	for _, m := range b.event.input {
		if m.value.Kind() == 't' {
			on = append(on, m)
		}
	}
	if len(on) > 0 {
		b.arguments(on)
	}
	return nil
}

// workNames are the members of inputs that name the folder in which a command runs.
var workNames = []string{"dir_path", "workdir", "working_directory", "cwd"}

// workFolder adds the folder in which a command runs: the one that the input names, else the event's.
func (b *builder) workFolder() error {
	folders, err := b.named(b.event.input, workNames)
	switch {
	case err != nil:
		return err
	case len(folders) > 1:
		return errors.New("the tool names more than one folder to work in")
	case len(folders) == 0 || folders[0] == "":
		b.intent.add("cwd", b.event.Cwd)
	case b.event.Cwd == "":
		b.intent.add("cwd", folders[0])
	default:
		b.intent.add("cwd", below(b.event.Cwd, folders[0]))
	}
	return nil
}

// commandOf returns a command as a shell reads it: a text, or words, which are quoted.
func commandOf(value jsontext.Value) (string, error) {
	if value == nil {
		return "", nil
	}
	if text, ok := textOf(value); ok {
		return text, nil
	}
	if value.Kind() != '[' {
		return "", errors.New("is not a string")
	}
	parts, err := elements(value)
	if err != nil {
		return "", err
	}
	var words []string
	for _, element := range parts {
		word, ok := textOf(element)
		if !ok {
			return "", errors.New("has a word that is not a string")
		}
		words = append(words, quoted(word))
	}
	return strings.Join(words, " "), nil
}

// quoted is a word as a shell reads it back.
func quoted(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return r >= 0x80 || !isID(byte(r)) && !strings.ContainsRune("./:,+@%", r)
	})
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
