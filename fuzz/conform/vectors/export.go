package vectors

import (
	"crypto/ed25519"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"bailiff/fuzz/conform"
	"bailiff/runtime/attest"
)

// Tests is how many tests there are.
const Tests = 3000

// Bounds of the search: seeds are tried from one on, and of each only some tests are taken, so that there are many policies.
const (
	seeds      = 320
	mostOfSeed = 12
	enough     = 6 // tests of one feature; a test that has only features of which there are enough waits
)

// static are the files that are not generated: the schemas and the runner.
//
//go:embed static
var static embed.FS

// Export returns all files by name.
func Export() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(static, "static", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[entry.Name()], err = static.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	for name, file := range fileOf(choose()) {
		text, err := file.encode()
		if err != nil {
			return nil, err
		}
		files[name+"_test.json"] = text
	}
	files["shims.json"] = conform.NewShim(Key()).Trust()
	return files, nil
}

// choose takes those that are written, then those with a rare feature, and then others, until there are enough.
func choose() (chosen []*candidate) {
	seen := map[string]int{}
	take := func(c *candidate) {
		chosen = append(chosen, c)
		for _, feature := range c.features() {
			seen[feature]++
		}
	}
	for _, c := range append(written(), deniedParts()...) {
		take(c)
	}
	var waiting []*candidate
	for seed := int64(1); seed <= seeds && len(chosen) < Tests; seed++ {
		of := 0
		for _, c := range candidates(seed) {
			features := c.features()
			scarce := slices.ContainsFunc(features, func(feature string) bool { return seen[feature] < enough })
			first := slices.ContainsFunc(features, func(feature string) bool { return seen[feature] == 0 })
			switch {
			case len(chosen) == Tests:
			case first || of < mostOfSeed && scarce:
				of++
				take(c)
			case len(waiting) < Tests:
				waiting = append(waiting, c)
			}
		}
	}
	for i := 0; len(chosen) < Tests && i < len(waiting); i++ {
		take(waiting[i])
	}
	return chosen
}

// Key is the key of all vectors: the operator's, and the trusted shim's. It is public: no service but one under test may have it.
func Key() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("bailiff conformance vectors"))
	return ed25519.NewKeyFromSeed(seed[:])
}

// header is at the beginning of each file.
func header() []string {
	return []string{
		"Decisions under policies of docs/specification.md: each test is asked with two fresh API keys, an agent's and a trusted shim's.",
		"private key (Ed25519 seed) of the operator, who decides holds, and of the shim of shims.json; never to be trusted elsewhere: " + hex.EncodeToString(Key().Seed()),
	}
}

// fileOf puts tests into files by section, and groups of one policy.
func fileOf(chosen []*candidate) map[string]*File {
	files := map[string]*File{}
	groups := map[[2]string]*Group{}
	for _, c := range chosen {
		name := area(c)
		file := files[name]
		if file == nil {
			file = &File{Algorithm: name, Schema: "policy_decision_schema_v1.json", Header: header(), Notes: map[string]Note{}}
			files[name] = file
		}
		id := [2]string{name, c.s.text}
		group := groups[id]
		if group == nil {
			group = newGroup(c.s)
			groups[id] = group
			file.Groups = append(file.Groups, group)
		}
		group.Tests = append(group.Tests, c.test)
		for _, flag := range c.test.Flags {
			file.Notes[flag] = file.Notes[flag].of(flag, c.last.Rule)
		}
	}
	next := 1
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, group := range files[name].Groups {
			for i := range group.Tests {
				group.Tests[i].ID = next
				next++
				files[name].Count++
			}
		}
	}
	return files
}

func newGroup(s *subject) *Group {
	return &Group{
		Type: "PolicyDecision", Source: Source{"bailiff conform export", s.seed}, PublicKey: attest.FormatOperatorKey(Key().Public().(ed25519.PublicKey)),
		Policy: s.text, PolicyHash: s.hash, Signature: base64.RawURLEncoding.EncodeToString(attest.SignPolicy(Key(), []byte(s.text))), Profiles: s.profiles,
	}
}

// area is the section that a test is about: that of its rule, or the policy's first.
func area(c *candidate) string {
	section, _, _ := strings.Cut(c.last.Rule, ".")
	switch {
	case c.test.Result == "invalid":
		return "request"
	case section != "":
		return section
	case len(c.s.draft.Sections) > 0:
		return c.s.draft.Sections[0].Name
	}
	return "soft_limits"
}

// of is the note of a flag, with one more rule that decides a test with it.
func (n Note) of(flag, rule string) Note {
	rules := n.Rules
	if at, known := slices.BinarySearch(rules, rule); rule != "" && !known {
		rules = slices.Insert(rules, at, rule)
	}
	n = note(flag)
	n.Rules = rules
	return n
}

// note says what a flag means.
func note(flag string) Note {
	notes := map[string]Note{
		"Rule":      {"POLICY_BYPASS", "A rule denies the request.", []string{"specification.md#order-of-evaluation"}, nil},
		"Granted":   {"BASIC", "The policy allows the request.", []string{"specification.md#grants"}, nil},
		"Hold":      {"POLICY_BYPASS", "The request waits for the operator, or has waited.", []string{"specification.md#holds"}, nil},
		"Malformed": {"TWO_READINGS", "The body is not a request, or not one under this policy: 400 before any rule is looked at.", []string{"specification.md#intent"}, nil},
		"Limit":     {"COUNTER", "A counter is at its limit, or in its next window.", []string{"specification.md#limits-of-a-policy"}, nil},
		"Trace":     {"STATE", "The decision depends on the steps before it.", []string{"specification.md#limits-of-a-policy"}, nil},
		"Time":      {"STATE", "A step is at another time than Start: a black box can't be asked at that time.", []string{"specification.md#limits-of-a-policy"}, nil},
	}
	if n, ok := notes[flag]; ok {
		return n
	}
	return Note{"RESPELLING", "A law: " + lawful[flag], []string{"specification.md#normal-forms"}, nil}
}
