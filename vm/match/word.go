package match

import "encoding/binary"

// The head of a text is its first eight bytes as a word, the first of them lowest; its tail is the last eight, the last of
// them highest. Where the text is shorter, each has all of it and zeros. They tell most texts apart without a call, and
// short ones without looking at any byte.

// headWord returns the head of a text.
func headWord(text string) uint64 {
	if len(text) >= 8 {
		return eightBytes(text)
	}
	return shortWord(text)
}

// tailWord returns the tail of a text.
func tailWord(text string) uint64 {
	if len(text) >= 8 {
		return eightBytes(text[len(text)-8:])
	}
	return shortTail(text)
}

// headMask has the bits of a head that belong to a text of n bytes.
func headMask(n int) uint64 { return 1<<(8*n) - 1 }

// tailMask has the bits of a tail that belong to a text of n bytes.
func tailMask(n int) uint64 { return ^(1<<(64-8*min(n, 8)) - 1) }

// shortTail returns the tail of a text of less than eight bytes. It is a call, so that tailWord needs none.
func shortTail(text string) uint64 { return shortWord(text) << (64 - 8*len(text)) }

// shortWord returns all bytes of a text of less than eight.
func shortWord(text string) uint64 {
	n := len(text)
	if n >= 4 {
		return uint64(fourBytes(text)) | uint64(fourBytes(text[n-4:]))<<(8*(n-4))
	}
	if n == 0 {
		return 0
	}
	return uint64(text[0]) | uint64(text[n/2])<<(8*(n/2)) | uint64(text[n-1])<<(8*(n-1))
}

// fourBytes returns the first four bytes of a text.
func fourBytes(text string) uint32 { return binary.LittleEndian.Uint32([]byte(text[:4])) }

// eightBytes returns the first eight bytes of a text.
func eightBytes(text string) uint64 { return binary.LittleEndian.Uint64([]byte(text[:8])) }
