//go:build !linux

package hook

import "bailiff/cmd/bailiff/cli"

// try tries what the user may do with files.
func (e *eyes) try(paths []string) ([]use, error) {
	if e.self {
		return usesOf(paths), nil
	}
	return nil, cli.Usage("--as works on Linux only; run this as %s", e.name)
}
