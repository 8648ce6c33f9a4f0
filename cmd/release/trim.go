package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// cacheVariable names the module cache to a process that the Go command starts in place of a tool.
const cacheVariable = "BAILIFF_RELEASE_MODULES"

// trimming are the flag and the variable with which go build starts this program in place of each of its tools.
//
// With -trimpath the assembler is told to shorten the path of the package it assembles. Assembly that includes a file of
// another package, as gnark-crypto's does, still names that file's path in the module cache, and so two machines make two
// binaries (go.dev/issue/35217 is of the same kind).
func trimming(ctx context.Context, dir string) (flag, variable, modules string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", "", "", err
	}
	command := exec.CommandContext(ctx, "go", "env", "GOMODCACHE")
	command.Dir = dir
	modules, err = output(command)
	if err == nil && !filepath.IsAbs(modules) {
		err = fmt.Errorf("go env GOMODCACHE says %q, which is not an absolute path", modules)
	}
	return "-toolexec='" + self + "'", cacheVariable + "=" + modules, modules, err
}

// runTool runs a tool of the Go command, the assembler with one more prefix to shorten, and returns its exit code.
func runTool(modules, tool string, arguments []string) int {
	assembler := strings.TrimSuffix(filepath.Base(tool), ".exe") == "asm"
	if assembler {
		arguments = trimmed(arguments, modules)
	}
	command := exec.Command(tool, arguments...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	var version bytes.Buffer
	asked := assembler && slices.Equal(arguments, []string{"-V=full"})
	if asked {
		command.Stdout = &version
	}
	err := command.Run()
	if asked {
		// Objects in the build cache are found by what the tools say here: those of other builds are not for this one.
		fmt.Println(strings.TrimSpace(version.String()) + " modules-trimmed")
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "release:", err)
	return 1
}

// trimmed returns the assembler's arguments with the module cache among the prefixes that it removes.
func trimmed(arguments []string, modules string) []string {
	arguments = slices.Clone(arguments)
	if i := slices.Index(arguments, "-trimpath"); i >= 0 && i+1 < len(arguments) {
		arguments[i+1] += ";" + modules + "=>"
	}
	return arguments
}

// localPaths returns those of the folders that a binary names.
func localPaths(binary []byte, folders ...string) (found []string) {
	for _, folder := range folders {
		if bytes.Contains(binary, []byte(folder)) {
			found = append(found, folder)
		}
	}
	return found
}
