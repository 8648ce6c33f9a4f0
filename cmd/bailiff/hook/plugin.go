package hook

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"slices"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/hook/setup"
)

// pluginSources are the plugins of hosts that have no hooks, as they are installed.
//
//go:embed plugins
var pluginSources embed.FS

// A fileEdit is a file, and what is to become of it.
type fileEdit struct {
	file   *settingsFile
	after  []byte
	remove bool
}

// none reports whether nothing changes.
func (e *fileEdit) none() bool {
	return bytes.Equal(e.file.text, e.after) && e.file.found != e.remove
}

// An installedFile is what a receipt says of a file of a plugin.
type installedFile struct {
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	Before  []byte `json:"before"` // the file's bytes, where it existed
	After   string `json:"after"`  // SHA-256 of what was written
}

// fits reports whether a file is as the installation left it.
func (i *installedFile) fits(file *settingsFile) bool {
	return i != nil && file.found && i.After == digestOf(file.text)
}

// installedAt is what the receipt says of a file of a plugin, nil for nothing.
func (r *receipt) installedAt(path string) *installedFile {
	at := slices.IndexFunc(r.Files, func(one installedFile) bool { return one.Path == path })
	if at < 0 {
		return nil
	}
	return &r.Files[at]
}

// A pluginFile is a file of a host's plugin, and what it has to be.
type pluginFile struct {
	*settingsFile
	source []byte
}

// pluginFilesOf reads the files of the plugin that belongs to settings, in the order of their names; none for a host that has hooks.
func pluginFilesOf(settings *settingsFile) ([]pluginFile, error) {
	var files []pluginFile
	paths := settings.host.PluginFiles(settings.path)
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		source, err := pluginSources.ReadFile("plugins/" + name)
		if err != nil {
			return nil, err
		}
		file := &settingsFile{host: settings.host, scope: settings.scope, path: paths[name]}
		if err := file.read(); err != nil {
			return nil, err
		}
		files = append(files, pluginFile{file, source})
	}
	return files, nil
}

// planPlugin adds the files of a host's plugin to a change, and to its receipt.
func planPlugin(one *change) error {
	files, err := pluginFilesOf(one.file)
	if err != nil {
		return err
	}
	for _, file := range files {
		one.plugin = append(one.plugin, fileEdit{file: file.settingsFile, after: file.source})
	}
	return nil
}

// noteFiles has the receipt say what the files of a plugin were before and are after the installation.
func (c *change) noteFiles() {
	var files []installedFile
	for _, edit := range c.plugin {
		was := c.receipt.installedAt(edit.file.path)
		if !was.fits(edit.file) { // it is another than this command left it, so what was before is what there is
			was = &installedFile{Path: edit.file.path}
			if edit.file.found && !bytes.Equal(edit.file.text, edit.after) { // else it is of another installation, with the same folder
				was.Existed, was.Before = true, edit.file.text
			}
		}
		was.After = digestOf(edit.after)
		files = append(files, *was)
	}
	c.receipt.Files = files
}

// undoPlugin adds to a change that the files of a plugin become what they were. One that was changed since it was installed stays.
// Before are changes that are made earlier: what they have is theirs.
func undoPlugin(one *change, before []*change) error {
	files, err := pluginFilesOf(one.file)
	if err != nil {
		return err
	}
	for _, file := range files {
		if slices.ContainsFunc(before, func(c *change) bool { return c.writes(file.path) }) {
			continue
		}
		was := one.receipt.installedAt(file.path)
		switch {
		case was.fits(file.settingsFile):
			one.plugin = append(one.plugin, fileEdit{file: file.settingsFile, after: was.Before, remove: !was.Existed})
		case was == nil && file.found && bytes.Equal(file.text, file.source): // without a receipt it is known by its text
			one.plugin = append(one.plugin, fileEdit{file: file.settingsFile, remove: true})
		case file.found:
			one.kept = append(one.kept, file.path)
		}
	}
	return nil
}

// writes reports whether a file is one of the plugin's that the change is about.
func (c *change) writes(path string) bool {
	return slices.Contains(c.kept, path) || slices.ContainsFunc(c.plugin, func(edit fileEdit) bool { return edit.file.path == path })
}

// examinePlugin returns what is wrong with the files of the plugin that belongs to settings; empty for nothing.
func examinePlugin(settings *settingsFile) string {
	files, err := pluginFilesOf(settings)
	if err != nil {
		return cli.Plain(err)
	}
	for _, file := range files {
		switch {
		case !file.found:
			return fmt.Sprintf("there is no %s, so the host can't load the plugin; run bailiff hook install again", file.path)
		case !bytes.Equal(file.text, file.source):
			return fmt.Sprintf("%s is not the plugin of this version of bailiff; see who changed it, and run bailiff hook install again", file.path)
		}
	}
	return ""
}

// filesWith finds a host's settings files of a scope that there are, or that have a receipt; where there is none, the first.
func filesWith(host *setup.Host, scope setup.Scope) ([]*settingsFile, error) {
	all, err := readSettingsFiles(host, scope)
	if err != nil {
		return nil, err
	}
	var found []*settingsFile
	for _, file := range all {
		r, err := receiptOf(file)
		if err != nil {
			return nil, err
		}
		if file.found || r.After != "" {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		return all[:1], nil
	}
	return found, nil
}
