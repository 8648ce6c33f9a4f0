package setup

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// pluginFolder is the name of the folder beside the settings in which the files of a plugin are. By it an entry of the settings is
// recognised.
const pluginFolder = "bailiff-plugin"

// pluginName is what a host calls the plugin that has a name in its settings.
const pluginName = "bailiff"

// A pluginForm is how the settings of a host name its plugins.
type pluginForm struct {
	files []string // of the plugin
	// places are the lists and objects in which an entry of Bailiff's can be, innermost first. Empty ones mean the same as none.
	places [][]string
	// parts are the installed parts.
	parts func(o Options) []part
	// isOurs reports whether the value at a name or index of a place is Bailiff's.
	isOurs func(place []string, name string, value any) bool
	// command is where an entry has the command line.
	command func(entry any) any
}

// A part is a value that is added to a list, at its end, or to an object under a name.
type part struct {
	place []string
	name  string // empty in a list
	value any
}

// openCodePlugin: a list of plugins, each a name or a name with options. Plugins run in its order, so Bailiff's is the last: one
// after it could change what was decided.
var openCodePlugin = pluginForm{
	files:  []string{"opencode.ts", "ask.ts"},
	places: [][]string{{"plugin"}},
	parts: func(o Options) []part {
		file := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(o.Folder, "opencode.ts"))}
		return []part{{[]string{"plugin"}, "", []any{file.String(), map[string]any{"command": list(o.Command)}}}}
	},
	isOurs: func(_ []string, _ string, value any) bool {
		if pair, isPair := value.([]any); isPair && len(pair) > 0 {
			value = pair[0]
		}
		file, _ := value.(string)
		return strings.HasSuffix(file, "/"+pluginFolder+"/opencode.ts")
	},
	command: func(entry any) any {
		pair, _ := entry.([]any)
		if len(pair) != 2 {
			return nil
		}
		return at(pair[1], []string{"command"})
	},
}

// openClawPlugin: a list of folders, and an entry by the plugin's name.
var openClawPlugin = pluginForm{
	files:  []string{"openclaw.ts", "ask.ts", "openclaw.plugin.json", "package.json"},
	places: [][]string{{"plugins", "load", "paths"}, {"plugins", "entries"}},
	parts: func(o Options) []part {
		return []part{
			{[]string{"plugins", "load", "paths"}, "", o.Folder},
			{[]string{"plugins", "entries"}, pluginName, map[string]any{"enabled": true, "config": map[string]any{"command": list(o.Command)}}},
		}
	},
	isOurs: func(place []string, name string, value any) bool {
		if place[len(place)-1] == "entries" {
			return name == pluginName
		}
		folder, _ := value.(string)
		return path.Base(filepath.ToSlash(folder)) == pluginFolder
	},
	command: func(entry any) any { return at(entry, []string{"config", "command"}) },
}

// PluginFiles returns the paths of the files of a host's plugin, beside its settings, by the names that they have among the
// plugins of the project; nil for a host that has hooks.
func (h *Host) PluginFiles(settings string) map[string]string {
	if h.plugin == nil {
		return nil
	}
	files := map[string]string{}
	for _, name := range h.plugin.files {
		files[name] = filepath.Join(h.PluginFolder(settings), name)
	}
	return files
}

// PluginFolder is the folder of the plugin of a host, beside its settings; empty for a host that has hooks.
func (h *Host) PluginFolder(settings string) string {
	if h.plugin == nil {
		return ""
	}
	return filepath.Join(filepath.Dir(settings), pluginFolder)
}

// children returns the values of a list or an object, by their index or name, in order.
func children(value any) (names []string, values []any) {
	switch container := value.(type) {
	case []any:
		for i, one := range container {
			names, values = append(names, strconv.Itoa(i)), append(values, one)
		}
	case map[string]any:
		for _, name := range ordered(container) {
			names, values = append(names, name), append(values, container[name])
		}
	}
	return names, values
}

// found returns the paths of Bailiff's parts in a document.
func (p *pluginForm) found(root any) (paths [][]string) {
	for _, place := range p.places {
		names, values := children(at(root, place))
		for i, value := range values {
			if p.isOurs(place, names[i], value) {
				paths = append(paths, append(slices.Clone(place), names[i]))
			}
		}
	}
	return paths
}

// insertPlugin returns a document with all parts of a plugin.
func (h *Host) insertPlugin(text []byte, o Options) ([]byte, error) {
	for _, one := range h.plugin.parts(o) {
		doc, err := h.parseJSON(text, true)
		if err != nil {
			return nil, err
		}
		where := atName
		route := append(slices.Clone(one.place), one.name)
		if one.name == "" {
			where, route = atEnd, one.place
		}
		edited, err := doc.put(route, one.value, where)
		if err != nil {
			return nil, err
		}
		if err := h.keepsPlugins(doc, edited); err != nil {
			return nil, err
		}
		text = edited
	}
	return text, nil
}

// removePlugin returns a document without Bailiff's plugin.
func (h *Host) removePlugin(text []byte) ([]byte, error) {
	for {
		doc, err := h.parseJSON(text, true)
		if err != nil {
			return nil, err
		}
		paths := h.plugin.found(doc.value())
		if len(paths) == 0 {
			return text, nil
		}
		edited, err := doc.remove(paths[0])
		if err != nil {
			return nil, err
		}
		if err := h.keepsPlugins(doc, edited); err != nil {
			return nil, err
		}
		text = edited
	}
}

// keepsPlugins is keeps for a host with plugins.
func (h *Host) keepsPlugins(before document, edited []byte) error {
	after, err := h.parse(edited)
	if err != nil {
		return fmt.Errorf("the edited file would not parse, so nothing was changed: %w", err)
	}
	if !reflect.DeepEqual(h.plugin.others(before.value()), h.plugin.others(after.value())) {
		return errors.New("the edit would change more than Bailiff's plugin, so nothing was changed; write the plugins in the form that the host's documentation shows")
	}
	return nil
}

// others is a copy of a document without Bailiff's plugin, and without the lists and objects of plugins that are empty then.
func (p *pluginForm) others(root any) any {
	copied := normal(root)
	for {
		paths := p.found(copied)
		if len(paths) == 0 {
			break
		}
		copied = without(copied, paths[0])
	}
	for _, place := range p.places {
		for ; len(place) > 0; place = place[:len(place)-1] {
			if names, _ := children(at(copied, place)); len(names) == 0 && isContainer(at(copied, place)) {
				copied = without(copied, place)
			}
		}
	}
	return copied
}

// isContainer reports whether a value is a list, an object or null, any of which can be empty.
func isContainer(value any) bool {
	switch value.(type) {
	case []any, map[string]any, nil:
		return true
	}
	return false
}

// without returns a value without the member at a path.
func without(value any, path []string) any {
	switch container := value.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(container, path[0])
		} else if inner, found := container[path[0]]; found {
			container[path[0]] = without(inner, path[1:])
		}
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(container) {
			return slices.Delete(container, i, i+1)
		}
	}
	return value
}

// plugins returns the plugin that is in a document as one hook for each event, and what other plugins its lists name.
func (h *Host) plugins(root any) (found []Hook) {
	var ours []any
	var line []string
	for _, place := range h.plugin.places {
		names, values := children(at(root, place))
		_, isList := at(root, place).([]any)
		for i, value := range values {
			switch {
			case h.plugin.isOurs(place, names[i], value):
				ours = append(ours, value)
				if words := texts(h.plugin.command(value)); isAdapter(words) {
					line = words
				}
			case isList: // an object has settings, by which no plugin is loaded
				for _, event := range h.Events {
					found = append(found, Hook{Event: event, Text: compact(value)})
				}
			}
		}
	}
	if len(ours) == 0 {
		return found
	}
	// The plugin denies when its hook fails. Without a part of it, the host does not load it.
	complete := len(ours) == len(h.plugin.places) && line != nil
	for _, event := range h.Events {
		found = append(found, Hook{Event: event, Text: compact(ours), Ours: true, Words: line, Closed: complete})
	}
	return found
}

// pluginEntry is the text of a plugin that is installed, as plugins has it.
func (h *Host) pluginEntry(o Options) any {
	var values []any
	for _, one := range h.plugin.parts(o) {
		values = append(values, one.value)
	}
	return values
}

// texts returns a list of texts, nil where a value is none.
func texts(value any) (words []string) {
	values, _ := value.([]any)
	for _, one := range values {
		word, isText := one.(string)
		if !isText {
			return nil
		}
		words = append(words, word)
	}
	return words
}

// Replaces reports whether a file that the host reads later has a list of plugins of its own, which counts in place of all earlier
// ones.
func (h *Host) Replaces(later []byte) bool {
	if h.plugin == nil {
		return false
	}
	doc, err := h.parse(later)
	return err != nil || at(doc.value(), h.plugin.places[0]) != nil
}
