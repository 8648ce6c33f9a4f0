//go:build !linux

package main

// try tries what the user may do with files.
func (e *eyes) try(paths []string) ([]use, error) {
	if e.self {
		return usesOf(paths), nil
	}
	return nil, usage("--as works on Linux only; run this as %s", e.name)
}
