// Package naive looks for a text in a text in the simplest way. Tests of the fast ways compare with it.
package naive

import (
	"regexp"
	"strings"
)

// literal is an address, or more digits and so not one.
var literal = regexp.MustCompile(`0[xX][0-9a-fA-F]{40,}`)

// hexDigit matches a digit, which makes an address beside it a part of a longer number.
var hexDigit = regexp.MustCompile(`[0-9a-fA-F]`)

// addressLength is the length of an address.
const addressLength = len("0x") + 40

// Contains reports whether entry is in text: with start only at the start of text, with end only at its end. With fold the
// addresses in entry match without regard to case.
func Contains(entry string, fold, start, end bool, text string) bool {
	for i := 0; i+len(entry) <= len(text); i++ {
		if start && i > 0 || end && i+len(entry) < len(text) {
			continue
		}
		if have := text[i : i+len(entry)]; have == entry || fold && equalFolded(have, entry) {
			return true
		}
	}
	return false
}

// equalFolded compares two texts of one length: the addresses in entry without regard to case.
func equalFolded(have, entry string) bool {
	at := 0
	for _, place := range literal.FindAllStringIndex(entry, -1) {
		if place[1]-place[0] != addressLength || place[0] > 0 && hexDigit.MatchString(entry[place[0]-1:place[0]]) {
			continue
		}
		if have[at:place[0]] != entry[at:place[0]] || !strings.EqualFold(have[place[0]:place[1]], entry[place[0]:place[1]]) {
			return false
		}
		at = place[1]
	}
	return have[at:] == entry[at:]
}
