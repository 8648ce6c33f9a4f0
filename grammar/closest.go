package grammar

import "strings"

// maxWord bounds the words that Closest compares: no name is longer, and the comparison takes the product
// of the lengths.
const maxWord = 64

// Closest returns the candidate that word was most likely meant to be, or "" where none is near: at most
// one edit for every three characters, or a difference of case alone. An edit is a character put in, left
// out or changed, or two neighbours swapped. Of equally near candidates the first wins.
func Closest(word string, candidates []string) string {
	best, bestDistance := "", max(1, len(word)/3)+1
	for _, candidate := range candidates {
		if len(word) > maxWord || len(candidate) > maxWord || candidate == word {
			continue
		}
		distance := editDistance(strings.ToLower(word), strings.ToLower(candidate))
		if distance < bestDistance && distance < len(candidate) {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// Misspelt reports whether word is name, but for one edit at most, for case, and for hyphens in place of underscores. What
// is farther from it may have been meant otherwise.
func Misspelt(word, name string) bool {
	plain := strings.NewReplacer("-", "_").Replace
	return editDistance(plain(strings.ToLower(word)), plain(strings.ToLower(name))) <= 1
}

// editDistance returns the optimal string alignment distance of two short strings, in bytes.
func editDistance(a, b string) int {
	var rows [3][maxWord * 4]int // lower case can be longer than what it comes from
	if len(a) >= len(rows[0]) || len(b) >= len(rows[0]) {
		return len(rows[0])
	}
	before, previous, current := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}
