// Package setup edits the settings files of the hosts that run coding agents, so that a host asks `bailiff hook` before each
// tool call.
//
// It is pure: it takes the text of a file and returns the text that the file should have; reading, asking and writing are
// the command's. It promises to keep everything that is not Bailiff's: order, comments, unknown keys, line ends and
// indentation. Where it cannot be sure of that it returns an error and no text: a file that does not parse, that has a key
// twice, or in which the place of a hook has another type. Installing twice is installing once.
package setup

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"bailiff/runtime/hook"
)

// MaxBytes bounds the text of a settings file.
const MaxBytes = 4 << 20

// Options select the parts to install.
type Options struct {
	// Command is the adapter's command line: the program, "hook", "--adapter", the host's name, and its flags.
	Command []string
	// Timeout is how long the host waits for the adapter; zero where the host has no such setting.
	Timeout time.Duration
	// Closed sets the host's own switch, by which a call is stopped when its hook fails.
	Closed bool
	// URL is the address of the service's HTTP hook; empty for the command form.
	URL string
	// KeyVariable is the environment variable of the host from which the HTTP hook takes the API key.
	KeyVariable string
	// Folder is the absolute path of the folder with the files of a plugin; empty for a host that has hooks.
	Folder string
}

// Hook is a hook that is in a settings file.
type Hook struct {
	Event string // the host's name of the event
	Text  string // the entry as JSON, on one line
	Ours  bool
	// Words are the adapter's command line, where the hook is ours and runs a command.
	Words []string
	// URL is the address that the hook asks, where the hook is ours and the host itself asks.
	URL string `json:",omitempty"`
	// Closed says that the host's own switch is set on it or, where there is none, that its shell denies when it is killed.
	Closed bool
}

// Install returns the text of a settings file, empty where there is none, with the host's hooks in it.
func (h *Host) Install(text []byte, o Options) ([]byte, error) {
	if err := h.check(o); err != nil {
		return nil, err
	}
	found, err := h.Hooks(text)
	if err != nil {
		return nil, err
	}
	if h.installed(found, o) {
		return text, nil
	}
	if text, err = h.Uninstall(text); err != nil {
		return nil, err
	}
	if h.plugin != nil {
		text, err = h.insertPlugin(text, o)
	} else {
		text, err = h.insertHooks(text, o)
	}
	if err != nil {
		return nil, err
	}
	if found, err = h.Hooks(text); err != nil || !h.installed(found, o) {
		return nil, errors.Join(errors.New("the hooks would not be as they have to be, so nothing was changed"), err)
	}
	return text, nil
}

// insertHooks puts the entry in front of the hooks of each event.
func (h *Host) insertHooks(text []byte, o Options) (edited []byte, err error) {
	for _, event := range slices.Backward(h.Events) {
		if text, err = h.insert(text, event, h.entry(o)); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// check refuses what the host has no setting for.
func (h *Host) check(o Options) error {
	switch {
	case o.URL != "" && !h.HTTP:
		return fmt.Errorf("%s has no HTTP hooks that can be made to fail closed; only claude-code has; leave --http out", h.Name)
	case o.URL == "" && !isAdapter(o.Command):
		return fmt.Errorf("%q is not the command line of an adapter", o.Command)
	case h.plugin != nil && !filepath.IsAbs(o.Folder):
		return fmt.Errorf("%q is not the absolute path of the plugin's folder", o.Folder)
	}
	return nil
}

// installed reports whether exactly what o asks for is there.
func (h *Host) installed(found []Hook, o Options) bool {
	var events []string
	entry := h.entry(o)
	for _, one := range found {
		if !one.Ours {
			continue
		}
		if one.Text != compact(entry) {
			return false
		}
		events = append(events, one.Event)
	}
	return slices.Equal(events, h.Events)
}

// insert puts an entry in front of the hooks of an event.
func (h *Host) insert(text []byte, event string, entry any) ([]byte, error) {
	doc, err := h.parse(text)
	if err != nil {
		return nil, err
	}
	edited, err := doc.insert([]string{"hooks", event}, entry)
	if err != nil {
		return nil, err
	}
	return edited, h.keeps(doc, edited)
}

// keeps returns an error where an edit changed anything that is not Bailiff's: it holds the values of both texts against each
// other, whatever the editing did.
func (h *Host) keeps(before document, edited []byte) error {
	after, err := h.parse(edited)
	if err != nil {
		return fmt.Errorf("the edited file would not parse, so nothing was changed: %w", err)
	}
	if !reflect.DeepEqual(others(before.value()), others(after.value())) {
		return errors.New("the edit would change more than Bailiff's hooks, so nothing was changed; write the hooks in the form that the host's documentation shows")
	}
	return nil
}

// Uninstall returns the text without Bailiff's hooks, and without the lists that are empty then.
func (h *Host) Uninstall(text []byte) ([]byte, error) {
	if h.plugin != nil {
		return h.removePlugin(text)
	}
	for {
		doc, err := h.parse(text)
		if err != nil {
			return nil, err
		}
		path := ourPath(doc.value())
		if path == nil {
			return text, nil
		}
		edited, err := doc.remove(path)
		if err != nil {
			return nil, err
		}
		if err := h.keeps(doc, edited); err != nil {
			return nil, err
		}
		if bytes.Equal(edited, text) {
			return nil, errors.New("the hook can't be removed; remove it by hand")
		}
		text = edited
	}
}

// Hooks returns the hooks of the events that the host's adapter is called for, of whatever maker, in the order of the file.
func (h *Host) Hooks(text []byte) ([]Hook, error) {
	doc, err := h.parse(text)
	if err != nil {
		return nil, err
	}
	return h.hooksIn(doc.value()), nil
}

// hooksIn returns the hooks of a document.
func (h *Host) hooksIn(document any) (found []Hook) {
	if h.plugin != nil {
		return h.plugins(document)
	}
	root, _ := document.(map[string]any)
	events, _ := root["hooks"].(map[string]any)
	for _, event := range h.Events {
		list, _ := events[event].([]any)
		for _, entry := range list {
			found = append(found, Hook{event, compact(entry), isOurs(entry), words(entry), address(entry), isClosed(entry)})
		}
	}
	return found
}

// SwitchedOff returns the setting by which one of the host's files switches hooks off; empty where none does. Comments are read
// over in every file.
func (h *Host) SwitchedOff(text []byte) (string, error) {
	parse := h.parse
	if h.form == jsonForm {
		parse = func(text []byte) (document, error) { return h.parseJSON(text, true) }
	}
	doc, err := parse(text)
	if err != nil {
		return "", err
	}
	for _, off := range h.off {
		found := at(doc.value(), strings.Split(off.path, "."))
		list, isList := found.([]any)
		switch {
		case off.lacks && len(list) > 0 && !slices.Contains(list, off.value):
			return fmt.Sprintf("%s: %v, without %v", off.path, found, off.value), nil
		case !off.lacks && (isList && slices.Contains(list, off.value) || !isList && found == off.value):
			return fmt.Sprintf("%s: %v", off.path, found), nil
		}
	}
	return "", nil
}

// at returns the value at a path of objects, nil where there is none.
func at(value any, path []string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// A document is a settings file that was parsed.
type document interface {
	// value returns what the text means: maps, lists, and scalars.
	value() any
	// insert returns the text with an entry in front of the list at a path, which is made where it is missing.
	insert(path []string, entry any) ([]byte, error)
	// remove returns the text without the text at a path, whose parts are names and indexes, and without the objects and lists
	// that are empty then.
	remove(path []string) ([]byte, error)
}

// parse reads the text of a settings file.
func (h *Host) parse(text []byte) (document, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", len(text), MaxBytes)
	}
	switch h.form {
	case yamlForm:
		return parseYAML(text)
	case jsonForm:
		return h.parseJSON(text, false)
	}
	return h.parseJSON(text, true)
}

// ourPath returns the path to a hook of Bailiff's, the outermost object that is nothing else; nil where there is none.
func ourPath(root any) []string {
	object, _ := root.(map[string]any)
	events, _ := object["hooks"].(map[string]any)
	for event, value := range events {
		list, _ := value.([]any)
		for i, entry := range list {
			path := []string{"hooks", event, strconv.Itoa(i)}
			group, _ := entry.(map[string]any)
			inner, grouped := group["hooks"].([]any)
			if !grouped && isOurs(entry) {
				return path
			}
			at := slices.IndexFunc(inner, isOurs)
			switch {
			case at < 0:
			case !slices.ContainsFunc(inner, func(one any) bool { return !isOurs(one) }):
				return path
			default:
				return append(path, "hooks", strconv.Itoa(at))
			}
		}
	}
	return nil
}

// others is a copy of a document without Bailiff's hooks, and without the lists and the object of hooks that are empty then.
func others(root any) map[string]any {
	object, _ := root.(map[string]any)
	copied := maps.Clone(object)
	events, isObject := object["hooks"].(map[string]any)
	if !isObject && copied["hooks"] != nil {
		return copied
	}
	kept := map[string]any{}
	for event, value := range events {
		list, isList := value.([]any)
		if !isList && value != nil {
			kept[event] = value
		} else if rest := foreign(list); len(rest) > 0 {
			kept[event] = rest
		}
	}
	if delete(copied, "hooks"); len(kept) > 0 {
		copied["hooks"] = kept
	}
	return copied
}

// foreign returns the entries that are not Bailiff's, and groups without those that are.
func foreign(entries []any) (rest []any) {
	for _, entry := range entries {
		group, _ := entry.(map[string]any)
		if inner, grouped := group["hooks"].([]any); grouped && len(inner) > 0 {
			left := foreign(inner)
			if len(left) == 0 {
				continue
			}
			group = maps.Clone(group)
			group["hooks"] = left
			rest = append(rest, group)
		} else if !isOurs(entry) {
			rest = append(rest, entry)
		}
	}
	return rest
}

// isOurs reports whether an entry is Bailiff's: one that runs an adapter, or asks the service's HTTP hook, or a group of such.
func isOurs(entry any) bool {
	object, _ := entry.(map[string]any)
	if inner, grouped := object["hooks"].([]any); grouped {
		return len(inner) > 0 && !slices.ContainsFunc(inner, func(one any) bool { return !isOurs(one) })
	}
	url, _ := object["url"].(string)
	return strings.HasSuffix(url, HTTPPath) || isAdapter(words(entry))
}

// address returns the address of an entry that the host itself asks, or of the first of a group; empty where it has none.
func address(entry any) string {
	object, _ := entry.(map[string]any)
	inner, _ := object["hooks"].([]any)
	for _, one := range inner {
		if url := address(one); url != "" {
			return url
		}
	}
	url, _ := object["url"].(string)
	return url
}

// HTTPPath ends the address of the service's HTTP hook.
const HTTPPath = "/v1/hooks/claude-code"

// isAdapter reports whether a command line runs an adapter.
func isAdapter(words []string) bool {
	return len(words) > 3 && words[1] == "hook" && words[2] == "--adapter"
}

// words returns the command line of an entry, or of the first of a group; nil where it has none.
func words(entry any) []string {
	object, _ := entry.(map[string]any)
	if inner, grouped := object["hooks"].([]any); grouped {
		for _, one := range inner {
			if found := words(one); isAdapter(found) {
				return found
			}
		}
		return nil
	}
	command, _ := object["command"].(string)
	if command == "" {
		command, _ = object["bash"].(string)
	}
	args, split := object["args"].([]any)
	if !split {
		return splitWords(strings.TrimSuffix(command, fallback))
	}
	line := []string{command}
	for _, arg := range args {
		word, _ := arg.(string)
		line = append(line, word)
	}
	return line
}

// isClosed reports whether the host's own switch is set on an entry, or on all of a group. It does nothing for one that the host
// does not wait for.
func isClosed(entry any) bool {
	object, _ := entry.(map[string]any)
	if inner, grouped := object["hooks"].([]any); grouped {
		return !slices.ContainsFunc(inner, func(one any) bool { return !isClosed(one) })
	}
	if object["async"] == true {
		return false
	}
	for _, name := range lineNames {
		if line, _ := object[name].(string); strings.HasSuffix(line, fallback) {
			return true
		}
	}
	for i := range hook.Hosts {
		if h := &hook.Hosts[i]; h.FailClosed != "" && object[h.FailClosed] == switchOf(h) {
			return true
		}
	}
	return false
}

// compact is an entry as JSON on one line.
func compact(entry any) string {
	return string(bytes.TrimSpace(render(normal(entry), "", "")))
}
