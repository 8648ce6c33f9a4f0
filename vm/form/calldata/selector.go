package calldata

import (
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/sha3"
)

// A Selector is the first four bytes of call data, which say which method is called.
type Selector [selectorBytes]byte

// String returns 0x and eight hexadecimal digits in lower case.
func (s Selector) String() string { return "0x" + hex.EncodeToString(s[:]) }

// What is wrong with the text of a selector or signature.
var (
	ErrSelector  = errors.New("not 0x and eight hexadecimal digits")
	errSignature = errors.New("not a name with the types of its arguments, such as mint(address,uint256)")
	errAlias     = errors.New("spelled with a short name of a type; selectors are made of the long ones: uint256, int256, bytes1")
)

// ParseSelector returns the selector that a text names: 0x and eight hexadecimal digits of any case, or the signature of a
// method, spelled as Solidity hashes it. The errors are [ErrSelector], errSignature and errAlias.
func ParseSelector(text string) (s Selector, err error) {
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		raw, err := hex.DecodeString(digits)
		if err != nil || len(raw) != selectorBytes {
			return s, ErrSelector
		}
		return Selector(raw), nil
	}
	if _, err := argumentTypes(text); err != nil {
		return s, err
	}
	keccak := sha3.NewLegacyKeccak256()
	keccak.Write([]byte(text))
	return Selector(keccak.Sum(nil)), nil
}

// nameLength returns how many bytes of a signature are its name: a Solidity identifier.
func nameLength(signature string) int {
	for i := range len(signature) {
		c := signature[i]
		letter := (c|0x20)-'a' < 26 || c == '_' || c == '$'
		if !letter && (c-'0' > 9 || i == 0) {
			return i
		}
	}
	return len(signature)
}

// argumentTypes returns the types of a signature's arguments.
func argumentTypes(signature string) ([]string, error) {
	types, rest, err := readTuple(signature[nameLength(signature):], 0)
	if err != nil {
		return nil, err
	}
	if rest != "" || nameLength(signature) == 0 {
		return nil, errSignature
	}
	return types, nil
}

// maxTypeDepth bounds how deep tuples are in each other: far more than any contract's.
const maxTypeDepth = 8

// readTuple reads types in parentheses, and returns what follows.
func readTuple(text string, depth int) (types []string, rest string, err error) {
	rest, ok := strings.CutPrefix(text, "(")
	if !ok || depth > maxTypeDepth {
		return nil, "", errSignature
	}
	if after, ok := strings.CutPrefix(rest, ")"); ok && depth == 0 {
		return nil, after, nil
	}
	for {
		before := rest
		if rest, err = readType(rest, depth); err != nil {
			return nil, "", err
		}
		types = append(types, before[:len(before)-len(rest)])
		switch {
		case strings.HasPrefix(rest, ","):
			rest = rest[1:]
		case strings.HasPrefix(rest, ")"):
			return types, rest[1:], nil
		default:
			return nil, "", errSignature
		}
	}
}

// readType reads one type with its array brackets, and returns what follows.
func readType(text string, depth int) (rest string, err error) {
	if strings.HasPrefix(text, "(") {
		_, rest, err = readTuple(text, depth+1)
	} else {
		end := strings.IndexAny(text, ",)[")
		if end < 0 {
			return "", errSignature
		}
		rest, err = text[end:], checkType(text[:end])
	}
	for err == nil && strings.HasPrefix(rest, "[") {
		length, after, closed := strings.Cut(rest[1:], "]")
		if !closed || length != "" && !isNumber(length, 1, 1<<31-1) {
			return "", errSignature
		}
		rest = after
	}
	return rest, err
}

// checkType reports whether name is an elementary type as selectors are made of them.
func checkType(name string) error {
	switch {
	case slices.Contains([]string{"uint", "int", "fixed", "ufixed", "byte"}, name):
		return errAlias
	case slices.Contains([]string{"address", "bool", "bytes", "string", "function"}, name):
		return nil
	}
	if bits, ok := strings.CutPrefix(strings.TrimPrefix(name, "u"), "int"); ok && isNumber(bits, 8, 256) {
		if n, _ := strconv.Atoi(bits); n%8 == 0 {
			return nil
		}
	}
	if size, ok := strings.CutPrefix(name, "bytes"); ok && isNumber(size, 1, 32) {
		return nil
	}
	return errSignature
}

// isNumber reports whether digits are a number in that range, without leading zeros.
func isNumber(digits string, least, most int) bool {
	n, err := strconv.Atoi(digits)
	return err == nil && n >= least && n <= most && strconv.Itoa(n) == digits
}
