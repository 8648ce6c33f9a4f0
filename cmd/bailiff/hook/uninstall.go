package hook

import (
	"bailiff/cmd/bailiff/cli"
	"fmt"
)

type hookUninstallCommand struct {
	scopeFlags
	askFlags
	Hosts []string `arg:"" name:"host" help:"${hosts}."`
}

// Help says what is restored.
func (c *hookUninstallCommand) Help() string {
	return `Brings the host's settings back to the bytes that they had before hook install. Where they were changed since, only Bailiff's
hooks are taken out. A file of a plugin that was changed since stays.`
}

// Run shows what is to be written, asks, and writes it.
func (c *hookUninstallCommand) Run(std cli.Streams) error {
	hosts, err := hostsOf(c.Hosts)
	if err != nil {
		return err
	}
	var changes []*change
	for _, host := range hosts {
		files, err := filesWith(host, c.scope())
		if err != nil {
			return err
		}
		for _, file := range files {
			one, err := undo(file, changes)
			if err != nil {
				return err
			}
			changes = append(changes, one)
		}
	}
	return c.carryOut(std, changes, func(one *change) {
		fmt.Fprintf(std.Out, "%s: no hook of Bailiff's is in %s.\n", one.file.host.Name, one.file.path)
	})
}

// undo works out what the settings were before the installation. Before are changes that are made earlier.
func undo(file *settingsFile, before []*change) (*change, error) {
	r, err := receiptOf(file)
	if err != nil {
		return nil, err
	}
	one := &change{fileEdit: fileEdit{file: file}, receipt: r, undoes: true}
	if err := undoPlugin(one, before); err != nil {
		return nil, err
	}
	if r.fits(file.text) && file.found {
		one.after, one.remove = r.Before, !r.Existed
		return one, nil
	}
	one.remove = !file.found
	if one.after, err = file.host.Uninstall(file.text); err != nil {
		return nil, cli.Fail("%s can't be changed: %v", file.path, err)
	}
	return one, nil
}
