package main

import (
	"fmt"

	"bailiff/runtime/hook/setup"
)

type hookUninstallCommand struct {
	scopeFlags
	askFlags
	Hosts []string `arg:"" name:"host" help:"claude-code, codex, gemini, cursor, copilot, windsurf, hermes."`
}

// Help says what is restored.
func (c *hookUninstallCommand) Help() string {
	return `Brings the host's settings back to the bytes that they had before hook install. Where they were changed since, only Bailiff's
hooks are taken out.`
}

// Run shows what is to be written, asks, and writes it.
func (c *hookUninstallCommand) Run(std streams) error {
	hosts, err := hostsOf(c.Hosts)
	if err != nil {
		return err
	}
	var changes []*change
	for _, host := range hosts {
		one, err := undo(host, c.scope())
		if err != nil {
			return err
		}
		changes = append(changes, one)
	}
	return c.carryOut(std, changes, func(one *change) {
		fmt.Fprintf(std.out, "%s: no hook of Bailiff's is in %s.\n", one.file.host.Name, one.file.path)
	})
}

// undo works out what the settings were before the installation.
func undo(host *setup.Host, scope setup.Scope) (*change, error) {
	file, err := readSettingsFile(host, scope)
	if err != nil {
		return nil, err
	}
	r, err := receiptOf(file)
	if err != nil {
		return nil, err
	}
	one := &change{file: file, receipt: r, undoes: true}
	if r.fits(file.text) && file.found {
		one.after, one.remove = r.Before, !r.Existed
		return one, nil
	}
	one.remove = !file.found
	if one.after, err = host.Uninstall(file.text); err != nil {
		return nil, fail("%s can't be changed: %v", file.path, err)
	}
	return one, nil
}
