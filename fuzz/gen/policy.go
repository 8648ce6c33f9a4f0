package gen

import (
	"fmt"
	"strconv"
)

// builder makes one draft.
type builder struct {
	r            *Rand
	major, minor int
	density      int // of a hundred optional entries, how many are there
	policy       *Policy
}

// versions are drawn evenly.
var versions = [][2]int{{1, 0}, {1, 4}, {2, 0}, {2, 1}, {2, 1}, {2, 2}, {2, 3}, {2, 4}, {2, 4}}

// NewPolicy makes a draft of any size: one section with what it must have, several, or everything.
func NewPolicy(r *Rand) *Policy {
	version := One(r, versions)
	b := &builder{r: r, major: version[0], minor: version[1]}
	b.policy = &Policy{Version: fmt.Sprintf("%d.%d.%d", b.major, b.minor, r.N(4))}
	switch size := r.N(10); {
	case size < 3:
		b.density = 15
		b.sections(1)
	case size < 9:
		b.density = 30 + r.N(40)
		b.sections(2 + r.N(4))
	default:
		b.density = 85
		b.sections(len(sectionMakers))
	}
	return b.policy
}

// sectionMakers are all sections with the version that brought them. The weight is of how often.
var sectionMakers = []struct {
	major, minor, weight int
	add                  func(*builder)
}{
	{1, 0, 6, (*builder).addEVM},
	{1, 0, 6, (*builder).addTools},
	{1, 0, 5, (*builder).addCustom},
	{2, 0, 4, (*builder).addMCP},
	{1, 0, 3, (*builder).addSoftLimits},
	{1, 0, 3, (*builder).addExecutionLimits},
	{2, 1, 2, (*builder).addRepository},
	{2, 1, 3, (*builder).addFilesystem},
	{2, 1, 3, (*builder).addGit},
	{2, 1, 3, (*builder).addDatabase},
	{2, 4, 2, (*builder).addDeployment},
}

// sections adds n different sections. One that this version does not have is passed over; of the first three at
// least one is there, so that the policy enforces something.
func (b *builder) sections(n int) {
	var order []int
	for i, maker := range sectionMakers {
		for range maker.weight {
			order = append(order, i)
		}
	}
	Shuffle(b.r, order)
	done := map[int]bool{}
	for _, i := range order {
		maker := sectionMakers[i]
		if len(done) == n || done[i] || !b.from(maker.major, maker.minor) {
			continue
		}
		done[i] = true
		maker.add(b)
	}
	if !b.enforces() {
		One(b.r, sectionMakers[:3]).add(b)
	}
}

// enforces reports whether the policy has what its version must have (decisions, section 2, "Text layer").
func (b *builder) enforces() bool {
	for _, section := range b.policy.Sections {
		switch section.Name {
		case "evm", "tool_calls", "custom", "mcp":
			return true
		}
	}
	return false
}

// from reports whether the version is that one or later.
func (b *builder) from(major, minor int) bool {
	return b.major > major || b.major == major && b.minor >= minor
}

// section adds an empty section.
func (b *builder) section(name string) *Section {
	b.policy.Sections = append(b.policy.Sections, Section{Name: name})
	return &b.policy.Sections[len(b.policy.Sections)-1]
}

// may is true as often as the density says.
func (b *builder) may() bool { return b.r.Chance(b.density) }

func (s *Section) list(key string, values []string) {
	s.Entries = append(s.Entries, Entry{Key: key, Values: values})
}

func (s *Section) scalar(key, value string) {
	s.Entries = append(s.Entries, Entry{Key: key, Values: []string{value}, Scalar: true})
}

// raw adds a list of a resource profile, where quotes would be part of the items.
func (s *Section) raw(key string, values []string) {
	s.Entries = append(s.Entries, Entry{Key: key, Values: values, Raw: true})
}

// maybeList adds a list of from one to most of the pool's texts, if the density says so.
func (b *builder) maybeList(s *Section, key string, most int, pool []string) {
	if b.may() {
		s.list(key, b.r.Some(most, pool...))
	}
}

func (b *builder) maybeRaw(s *Section, key string, most int, pool []string) {
	if b.may() {
		s.raw(key, b.r.Some(most, pool...))
	}
}

func (b *builder) maybeFlag(s *Section, key string) {
	if b.may() {
		s.scalar(key, b.r.Pick("true", "true", "true", "True", "false"))
	}
}

// maybeCount adds a positive integer, mostly a small one.
func (b *builder) maybeCount(s *Section, key string) {
	if b.may() {
		s.scalar(key, b.count())
	}
}

func (b *builder) count() string {
	return b.r.Pick("1", "2", "3", "10", strconv.Itoa(1+b.r.N(1000)), "9007199254740991")
}

// common adds the controls that most sections have from 2.0 on.
func (b *builder) common(s *Section, patterns []string) {
	if !b.from(2, 0) {
		return
	}
	if b.r.Chance(b.density / 2) {
		s.list("require_approval", b.r.Some(3, patterns...))
	}
	if b.r.Chance(b.density / 5) {
		s.scalar("require_shim", b.r.Pick("true", "TRUE"))
	}
}

// actionPatterns are exact ones and ones that end in a star, over actions of every kind.
var actionPatterns = []string{"bash", "wallet.transfer", "wallet.*", "contract.call", "email.*", "mcp.github.*", "Deploy", "git.*", "db.*",
	"fs.*", "http", "web_*", "mcp.*", "model.inference", "swap", "file_write", "erc4337.*", "*"}
