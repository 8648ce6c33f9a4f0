package bash

import (
	"strings"
	"time"
)

// Found is an accepted command after which bash left the witness.
type Found struct{ Command string }

// Tally counts what a hunt did.
type Tally struct {
	Generated int
	Accepted  int // by the product, and run in bash
	Denied    int // commands that the product denies and that were run all the same, to see what the generator can do
	Effective int // of those, how many left the witness
}

// sampled is how many denied commands there are to one that is run.
const sampled = 400

// Hunt runs what accepts lets pass among the commands of g until the deadline, or until it has run enough of them
// (0 for no such limit). It returns the commands that left the witness twice.
func Hunt(g *Generator, accepts func(string) bool, s *Sandbox, deadline time.Time, enough int) (found []Found, tally Tally, err error) {
	seen := map[string]bool{}
	for time.Now().Before(deadline) && (enough == 0 || tally.Accepted < enough) {
		text := g.Next()
		tally.Generated++
		if seen[text] || strings.ContainsRune(text, 0) {
			continue
		}
		if len(seen) > 1<<20 {
			clear(seen)
		}
		seen[text] = true
		if !accepts(text) {
			if tally.Generated%sampled != 0 {
				continue
			}
			witness, err := s.Run(text)
			if err != nil {
				return found, tally, err
			}
			if tally.Denied++; witness {
				tally.Effective++
			}
			continue
		}
		tally.Accepted++
		witness, err := s.Run(text)
		if err == nil && witness {
			witness, err = s.Run(text) // what an earlier command left running may have been at work
		}
		if err != nil {
			return found, tally, err
		}
		if witness {
			found = append(found, Found{text})
		}
	}
	return found, tally, nil
}
