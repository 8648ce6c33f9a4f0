package slot

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"bailiff/vm/form/evmaddr"
	"bailiff/vm/form/fspath"
)

func checkFramework(text string) (string, string) {
	if !madeOf(text, 64, isFramework) {
		return "", "must be 1 to 64 lower-case letters, digits and hyphens"
	}
	return text, ""
}

func checkAgentID(text string) (string, string) {
	if text == "" || utf8.RuneCountInString(text) > 256 {
		return "", "must have 1 to 256 characters"
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return "", "must not hold control characters"
	}
	return text, ""
}

func checkTxCommit(text string) (string, string) {
	if len(text) != 64 || !madeOf(text, 64, isLowerHex) {
		return "", "must be the SHA-256 in 64 lower-case hexadecimal digits, without 0x"
	}
	return text, ""
}

func checkUserOpHash(text string) (string, string) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits) != 64 || !madeOf(digits, 64, isHex) {
		return "", "must be 0x and 64 hexadecimal digits"
	}
	return strings.ToLower(text), ""
}

func checkChain(text string) (string, string) {
	if !slices.Contains(ChainIDs(), text) {
		return "", "is not a supported chain; use one of " + strings.Join(ChainIDs(), ", ")
	}
	return text, ""
}

func checkNonce(text string) (string, string) {
	if utf8.RuneCountInString(text) > 64 {
		return "", "must have at most 64 characters"
	}
	return text, ""
}

func checkAction(text string) (string, string) {
	if !IsAction(text) {
		return "", "must have 1 to 128 characters of printable ASCII, without white space"
	}
	return strings.ToLower(text), ""
}

func checkAddress(text string) (string, string) {
	normal, err := evmaddr.Normalize(text)
	switch {
	case err == nil:
		return normal, ""
	case errors.Is(err, evmaddr.ErrChecksum):
		return "", "is an address in mixed case with a wrong EIP-55 checksum; check it, or write it in lower case"
	}
	return "", "must be an address: 0x and 40 hexadecimal digits"
}

func checkToken(text string) (string, string) {
	switch {
	case text == "":
		return "", "must not be empty; leave it out for the native currency"
	case strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X"):
		return checkAddress(text)
	}
	return text, ""
}

func checkAmountUnit(text string) (string, string) {
	if text != "base" {
		return "", "must be \"base\"; leave it out for human units"
	}
	return text, ""
}

// checkRecipient leaves an address as it was sent, because denials read that besides its normal form.
func checkRecipient(text string) (string, string) {
	if !evmaddr.IsLiteral(text) {
		return text, ""
	}
	_, problem := checkAddress(text)
	return text, problem
}

func checkTaskID(text string) (string, string) {
	if !madeOf(text, 128, isTaskID) {
		return "", "must be 1 to 128 letters, digits, underscores and hyphens"
	}
	return text, ""
}

func checkCwd(text string) (string, string) {
	if !fspath.IsAbsolute(text) {
		return "", "must be an absolute path, such as /workspace/app or C:\\work"
	}
	return text, ""
}

func checkMethod(text string) (string, string) {
	if !slices.Contains(methods, text) {
		return "", "must be one of " + strings.Join(methods, ", ") + ", in upper case"
	}
	return text, ""
}

func checkCalldata(text string) (string, string) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok || len(digits)%2 != 0 || digits != "" && !madeOf(digits, len(digits), isHex) {
		return "", "must be 0x and an even number of hexadecimal digits"
	}
	return strings.ToLower(text), ""
}

// madeOf reports whether text has 1 to limit bytes, all of the class.
func madeOf(text string, limit int, class func(byte) bool) bool {
	if text == "" || len(text) > limit {
		return false
	}
	for i := range len(text) {
		if !class(text[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isLower(c byte) bool     { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool     { return 'A' <= c && c <= 'Z' }
func isLowerHex(c byte) bool  { return isDigit(c) || 'a' <= c && c <= 'f' }
func isHex(c byte) bool       { return isLowerHex(c) || 'A' <= c && c <= 'F' }
func isVisible(c byte) bool   { return ' ' < c && c <= '~' }
func isFramework(c byte) bool { return isLower(c) || isDigit(c) || c == '-' }
func isTaskID(c byte) bool    { return isLower(c) || isUpper(c) || isDigit(c) || c == '_' || c == '-' }
