package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// CompletionCommand prints what a shell needs to complete command lines.
type CompletionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says where the text goes.
func (c *CompletionCommand) Help() string {
	return `bash:  source <(bailiff completion bash)                 in ~/.bashrc
zsh:   source <(bailiff completion zsh)                  in ~/.zshrc, behind compinit
fish:  bailiff completion fish > ~/.config/fish/completions/bailiff.fish`
}

// completions are the scripts by shell. They have the shell ask the command for the words that can be next, and complete files where there are none.
var completions = map[string]string{
	"bash": `_bailiff() {
  local IFS=$'\n' cur="${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=($(bailiff complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _bailiff bailiff
`,
	"zsh": `_bailiff() {
  local -a found
  found=("${(@f)$(bailiff complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _bailiff bailiff
`,
	"fish": `complete -c bailiff -a '(bailiff complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
}

// Run prints the script.
func (c *CompletionCommand) Run(std Streams) error {
	_, err := fmt.Fprint(std.Out, completions[c.Shell])
	return err
}

// CompleteCommand answers the scripts of CompletionCommand.
type CompleteCommand struct {
	Words []string `arg:"" optional:"" help:"The words behind bailiff; the last one is not complete."`
}

// Run prints the words that the last one can become, a line each.
func (c *CompleteCommand) Run(std Streams, parsed *kong.Context) error {
	for _, word := range candidates(parsed.Model.Node, c.Words) {
		if _, err := fmt.Fprintln(std.Out, word); err != nil {
			return err
		}
	}
	return nil
}

// candidates returns what the last word of a command line can become: subcommands, flags, and the words that a flag or an
// argument can be. It is empty where a file or any text can be there.
func candidates(node *kong.Node, words []string) (found []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	var flags []*kong.Flag
	var pending *kong.Flag // whose value is next
	arguments := 0
	learn := func() {
		for _, flag := range node.Flags {
			if !flag.Hidden {
				flags = append(flags, flag)
			}
		}
	}
	learn()
	for _, word := range words[:len(words)-1] {
		name, isFlag := strings.CutPrefix(word, "--")
		switch child := childOf(node, word); {
		case pending != nil:
			pending = nil
		case isFlag:
			at := slices.IndexFunc(flags, func(f *kong.Flag) bool { return f.Name == name })
			if at >= 0 && !flags[at].IsBool() {
				pending = flags[at]
			}
		case child != nil:
			node, arguments = child, 0
			learn()
		case len(node.Children) > 0:
			return nil // no such subcommand
		default:
			arguments++
		}
	}
	switch {
	case pending != nil:
		found = enum(pending.Value)
	case strings.HasPrefix(last, "-"):
		for _, flag := range flags {
			found = append(found, "--"+flag.Name)
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				found = append(found, child.Name)
			}
		}
		if arguments < len(node.Positional) {
			found = append(found, enum(node.Positional[arguments])...)
		}
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(word string) bool { return !strings.HasPrefix(word, last) })
}

// childOf returns the subcommand of that name, or nil.
func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// enum returns the words that a value can be, none where it can be any.
func enum(value *kong.Value) []string {
	if value.Enum == "" {
		return nil
	}
	return value.EnumSlice()
}
