// Package match matches texts against the texts, names, paths and patterns of a policy, fast. Its tables are built from a
// program's constants when the program is loaded; no byte of a program depends on them. Everything here has a slower and
// simpler equivalent, with which tests compare it.
//
// # Design
//
// Most tests say no, mostly because no entry is even similar. So each method first runs a prefilter of a few instructions, which
// rules out most texts, and compares bytes only if that says "perhaps":
//
//   - Whole texts, beginnings and endings: an [Entry] keeps its first and last eight bytes as words, which tell most texts
//     apart without a call. A [Set] keeps a bit for each length that its entries have. From [FewEntries] on, a hash table
//     finds the entry; for beginnings and endings one pass over the text hashes all of them.
//   - Texts in a text: up to [FewSearched] entries are looked for one by one, each by its rarest byte, which the standard
//     library finds several times as fast as a text. Where the entries share few rare bytes, these are found first
//     (rare-byte prefilter), and the bytes around them tell which entries may be there. In short texts a pass over pairs of
//     bytes (bigram filter) finds all entries at once. Each of these gives up after some tries in vain, so that a text takes
//     linear time. More entries than that make an Aho-Corasick automaton.
//   - Host names end in an entry, at a dot: a hash of each ending. Paths begin with one, at a slash: sets of the first two
//     bytes tell most patterns apart, and floating ones are tried at each slash, eight bytes at a time.
//   - Patterns with stars are cut at the stars. The text between two stars is taken where it comes first, so that many stars
//     take linear time.
//   - Regular expressions become a table of states ([Pattern]), with one look-up for each rune. Runes that no
//     instruction tells apart share a class. Word boundaries and ends of lines are known one rune late, so a
//     state keeps the instructions that wait for it. Expressions that need many states or classes are left to package regexp,
//     and the bound on a program's cost is higher.
//   - Several tests of one text that follow each other: a [Guard] tells most texts for which none of them holds, by the last bytes
//     of all their entries or by one bigram filter.
//   - The cases of a switch are looked at in turn while they are few, by their first eight bytes; else by binary search.
//
// Each of these saves at least a twentieth of the time of some intent under the ten rules of bench/peers, under the policy of all
// sections, or under one list as BenchmarkLists has them; bench/NOTES.md has the table. There are two exceptions: one pass over a host
// name hashes all its endings, because hashing each by itself would take the sum of their lengths, and runes share classes because
// the tables are then several times smaller.
//
// Not kept, since they saved less: a hash table for the cases of a switch, asking the rare bytes before the other filters are
// called, and comparing the last byte of a path pattern first.
//
// [Set.Cost] and [Pattern.Cost] bound the time of a test, and Memory the bytes; a program adds them up.
package match
