package match

import "strings"

// By says how entries are held against a text.
type By uint8

// The ways. In brackets what a text has to do with one of the entries.
const (
	Whole  By = 1 + iota // equal it
	Start                // start with it
	End                  // end with it
	Inside               // contain it
	Host                 // be the host name that it is, or one below it
	Path                 // be the cleaned path that it is, or one below it
	Glob                 // be what the pattern means
	Each                 // contain it; all entries that the text contains are wanted
)

// FewEntries is the number of entries up to which trying each in turn is at least as fast as looking one up.
const FewEntries = 8

// A Set is entries that texts are held against. [Set.Load] takes them in, [Set.Prepare] makes what a test needs.
type Set struct {
	entries []entry  // of globs those without a star only
	lengths uint64   // by lengthBit: those of the entries
	firsts  []uint64 // the heads of the entries
	folded  bool     // an entry ignores case somewhere, so that a text may have another head
	globs   []glob   // the others
	equals  *lookup  // Whole, Glob
	heads   *lookup  // Start
	tails   *lookup  // End, Host
	search  *searcher
	paths   *pathSet
}

// Load takes entries in, which are valid ([ValidateText], [ValidateHost], [ValidatePath], [ValidateGlob]). Style is 0 where they are no
// patterns.
func (s *Set) Load(entries []Entry, style GlobStyle) {
	if s.entries != nil || s.globs != nil {
		return
	}
	if style != 0 {
		s.globs, entries = newGlobs(style, entries)
	}
	s.entries = newEntries(entries)
	for i := range s.entries {
		e := &s.entries[i]
		s.lengths |= lengthBit(e.text)
		s.firsts = append(s.firsts, e.head)
		s.folded = s.folded || e.folded != nil
	}
}

// Prepare makes what tests by by need, and returns the bytes of its automata. The error says that they take too many.
func (s *Set) Prepare(by By) (memory int, err error) {
	switch by {
	case Path:
		if s.paths == nil {
			s.paths = newPathSet(s.entries)
		}
	case Inside, Each:
		if s.search == nil {
			s.search, memory, err = newSearcher(s.entries)
		}
	default:
		if l := s.lookup(by); len(s.entries) > FewEntries && *l == nil {
			*l = newLookup(s.entries, by)
		}
	}
	return memory, err
}

// lookup returns where the table of a test is kept. A set is one of hosts or of texts, so that two tests share a place.
func (s *Set) lookup(by By) **lookup {
	switch by {
	case Whole, Glob:
		return &s.equals
	case Start:
		return &s.heads
	}
	return &s.tails
}

// One reports whether the set has a single entry, so that [Set.ContainsOne] serves.
func (s *Set) One() bool { return len(s.entries) == 1 }

// Few reports whether [Set.InFew] serves for [Set.In].
func (s *Set) Few() bool { return s.equals == nil }

// HasLength reports whether an entry may be as long as text: it tells most texts from all entries.
func (s *Set) HasLength(text string) bool { return s.lengths&lengthBit(text) != 0 }

// Contains reports whether an entry is in text.
func (s *Set) Contains(text string) bool { return s.search.contains(text) }

// ContainsOne is Contains for a set of one entry.
func (s *Set) ContainsOne(text string) bool { return s.entries[0].inside(text) }

// Scan adds to hits every entry that is in text, which is the given element of a list.
func (s *Set) Scan(text string, hits *Hits, element int32) { s.search.scan(text, hits, element) }

// Path reports whether a pattern covers the cleaned path.
func (s *Set) Path(path string) bool { return s.paths.covers(path) }

// Glob reports whether a pattern covers text.
func (s *Set) Glob(text string) bool {
	if len(s.entries) > 0 && s.In(text) {
		return true
	}
	for i := range s.globs {
		if g := &s.globs[i]; (g.tail == "" || mayEnd(text, g.tail)) && g.covers(text) {
			return true
		}
	}
	return false
}

// mayEnd reports whether text is long enough to end with a text that is not empty, and has its last byte. It spares
// most comparisons their call.
func mayEnd(text, ending string) bool {
	return len(text) >= len(ending) && text[len(text)-1] == ending[len(ending)-1]
}

// lengthBit means the length of a text; long texts share one.
func lengthBit(text string) uint64 { return 1 << min(uint(len(text)), 63) }

// Outgrow reports whether all entries are longer than text, as far as their lengths tell: of a long text it never does.
func (s *Set) Outgrow(text string) bool { return s.lengths&(2<<min(uint(len(text)), 63)-1) == 0 }

// In reports whether text equals an entry.
func (s *Set) In(text string) bool {
	if l := s.equals; l != nil {
		return l.in(text)
	}
	return s.lengths&lengthBit(text) != 0 && s.InFew(text)
}

// InFew is [Set.In] for a set that is [Set.Few]. Few entries have the head of a text.
func (s *Set) InFew(text string) bool {
	if len(text) < 8 {
		head := shortWord(text)
		for i, first := range s.firsts {
			if first == head && len(s.entries[i].text) == len(text) {
				return true
			}
		}
		return false
	}
	head, tail := eightBytes(text), eightBytes(text[len(text)-8:])
	for i, first := range s.firsts {
		if e := &s.entries[i]; first == head && tail == e.tail && len(e.text) == len(text) {
			return len(text) <= 16 || s.inTurn(text)
		}
	}
	return s.folded && s.inTurn(text)
}

// inTurn is InFew, entry by entry.
func (s *Set) inTurn(text string) bool {
	for i := range s.entries {
		if s.entries[i].equal(text) {
			return true
		}
	}
	return false
}

// Starts reports whether text starts with an entry.
func (s *Set) Starts(text string) bool {
	if l := s.heads; l != nil {
		return l.starts(text)
	}
	head := headWord(text)
	for i := range s.entries {
		e := &s.entries[i]
		n := len(e.text)
		if (head^e.head)&e.headMask != 0 || n > len(text) || n > 8 && eightBytes(text[n-8:]) != e.tail {
			continue
		}
		return n <= 16 || s.startsInTurn(text)
	}
	return s.folded && s.startsInTurn(text)
}

// startsInTurn is starts for a few entries, all of which are compared.
func (s *Set) startsInTurn(text string) bool {
	for i := range s.entries {
		if e := &s.entries[i]; len(text) >= len(e.text) && e.equal(text[:len(e.text)]) {
			return true
		}
	}
	return false
}

// Ends reports whether text ends with an entry.
func (s *Set) Ends(text string) bool {
	if l := s.tails; l != nil {
		return l.ends(text)
	}
	tail := tailWord(text)
	for i := range s.entries {
		e := &s.entries[i]
		at := len(text) - len(e.text)
		if (tail^e.tail)&e.tailMask != 0 || at < 0 || len(e.text) > 8 && eightBytes(text[at:]) != e.head {
			continue
		}
		return len(e.text) <= 16 || s.endsInTurn(text)
	}
	return s.folded && s.endsInTurn(text)
}

// endsInTurn is ends for a few entries, all of which are compared.
func (s *Set) endsInTurn(text string) bool {
	for i := range s.entries {
		if e := &s.entries[i]; len(text) >= len(e.text) && e.equal(text[len(text)-len(e.text):]) {
			return true
		}
	}
	return false
}

// Host reports whether an entry covers the host name text.
func (s *Set) Host(text string) bool {
	if l := s.tails; l != nil {
		return l.host(text)
	}
	set, tail := s.entries, tailWord(text)
	for i := range set {
		if e := &set[i]; (tail^e.tail)&e.tailMask == 0 && CoversHost(e.text, text) {
			return true
		}
	}
	return false
}

// CoversHost reports whether host is what entry names or, at a dot, below it.
func CoversHost(entry, host string) bool {
	if entry[0] == '.' {
		return len(host) > len(entry) && strings.HasSuffix(host, entry)
	}
	if !strings.HasSuffix(host, entry) {
		return false
	}
	at := len(host) - len(entry)
	return at == 0 || at > 1 && host[at-1] == '.'
}
