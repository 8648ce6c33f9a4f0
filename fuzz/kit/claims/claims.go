// Package claims says which claims of attestations two decisions have in common that are the same.
package claims

import (
	"encoding/json"
	"maps"
	"slices"
)

// own are the claims that each attestation has of its own.
var own = []string{"jti", "iat", "exp", "pqc"}

// Lasting returns the other claims of an attestation, as JSON in the order of their names.
func Lasting(claims map[string]any) string {
	rest := maps.Clone(claims)
	maps.DeleteFunc(rest, func(name string, _ any) bool { return slices.Contains(own, name) })
	text, _ := json.Marshal(rest) // of JSON
	return string(text)
}
