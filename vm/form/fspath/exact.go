package fspath

import (
	"errors"
	"fmt"
	"strings"
)

// What the first segment of a reading says that it starts from.
const (
	here = "."
	home = "~"
)

// Exact returns the readings of a path for lists that allow, case kept: that from the root, or from the home directory, and
// that from the directory at hand, which starts with "." (./src/a.go). With a working directory, which may be "", a relative
// path has both, and so has an absolute one below that directory; without one a relative path has the second alone. It reports
// false for a path of which the text does not tell the file: what [Clean] finds suspicious, any "..", a home directory
// behind other segments, and a "\" where no drive says that it divides names.
func Exact(directory, raw string) (readings []string, ok bool) {
	joined := raw
	if directory != "" {
		joined = Join(directory, raw)
	}
	whole, ok := exact(joined)
	if !ok {
		return nil, false
	}
	switch {
	case whole[0] != '/':
		return []string{whole}, true
	case directory == "":
		return []string{whole}, true
	}
	readings = []string{whole}
	if base, ok := exact(directory); ok {
		base = strings.TrimSuffix(base, "/")
		if below, ok := strings.CutPrefix(whole, base); ok && (below == "" || below[0] == '/') {
			readings = append(readings, strings.TrimSuffix(here+below, "/"))
		}
	}
	return readings, true
}

// exact returns a path without what says nothing of it: /a/b, ~/a, or ./a where it is relative.
func exact(raw string) (path string, ok bool) {
	if _, why := examine(raw); why != "" {
		return "", false
	}
	drive := len(raw) > 1 && isDrive(strings.ToLower(raw[:2]))
	if strings.Contains(raw, `\`) && !drive {
		return "", false
	}
	segments := []string{here}
	switch {
	case strings.HasPrefix(raw, "/") || drive:
		segments[0] = ""
	case raw == home || strings.HasPrefix(raw, home+"/"):
		segments[0], raw = home, raw[len(home):]
	}
	for segment := range strings.SplitSeq(strings.ReplaceAll(raw, `\`, "/"), "/") {
		switch segment {
		case "", ".":
			continue
		case "..":
			return "", false
		}
		if len(segments) == 1 {
			switch folded := fold(segment); {
			case segments[0] == "" && isDrive(folded):
				segment = folded
			case segments[0] == here && (strings.HasPrefix(folded, home) || isDrive(folded)):
				return "", false // ./~/x and ./c:/x: some take them for a home directory and a drive
			}
		}
		segments = append(segments, segment)
	}
	if len(segments) == 1 && segments[0] == "" {
		return "/", true
	}
	return strings.Join(segments, "/"), true
}

// AllowedEntry returns the pattern that an entry of a list of allowed paths means, to be held against the readings
// of [Exact]: the path, and what lies below it, from its first segment, case included. A relative entry starts from the working
// directory, which is "." itself. In an entry "*" means any characters within a segment, and alone for one whole segment.
func AllowedEntry(text string) (pattern string, err error) {
	pattern, ok := exact(text)
	switch {
	case text == "":
		return "", errors.New("an allowed path is empty")
	case !ok:
		return "", fmt.Errorf("allowed path %q: write a plain path, such as /srv/app, ~/notes or src; "+
			"..-paths, ~user, $, %%VAR%%, c:x, file:, short names, a \\ without a drive and control characters are denied wherever paths are allowed", text)
	case strings.Contains(pattern, "**"):
		return "", fmt.Errorf("allowed path %q: * matches any characters within a segment, and ** no more than that: "+
			"write the directory, which covers all that is below it", text)
	}
	return pattern, nil
}
