package resource

import "slices"

// traits are what is true of a name, a bit each. Every vocabulary has traits of its own.
type traits uint16

// A row is one name of a vocabulary.
type row struct {
	name   string
	traits traits
}

// A vocabulary is a table of names with an index.
type vocabulary struct {
	rows  []row
	index map[string]traits
}

// known is the trait that every name has, so that the index tells a name without others from no name.
const known traits = 1 << 15

func newVocabulary(rows []row) *vocabulary {
	v := &vocabulary{rows: rows, index: make(map[string]traits, len(rows))}
	for _, r := range rows {
		v.index[r.name] = r.traits | known
	}
	return v
}

// has reports whether name is in the vocabulary and has one of the traits.
func (v *vocabulary) has(name string, any traits) bool { return v.index[name]&any != 0 }

// names returns the names in the order of the table.
func (v *vocabulary) names() []string {
	names := make([]string, len(v.rows))
	for i, r := range v.rows {
		names[i] = r.name
	}
	return names
}

// Names that rules single out.
const (
	Egress          = "egress"            // the effect that sends a file away
	pushFastForward = "push_fast_forward" // git operations that take fast-forwards only
	pullFastForward = "pull_ff_only"
	Select          = "select"          // the one database operation that only reads
	ExecuteRoutine  = "execute_routine" // has indirect effects unless a catalogue lists the routine
)

var (
	gitProviders     = []string{"generic", "github", "gitlab", "bitbucket"}
	remoteSchemes    = []string{"https", "ssh"}
	ordinaryClasses  = []string{"none", "normal", "ordinary", "public", "source"}
	readCapabilities = []string{Select, "read", "read_only"}
)

// GitProviders returns the hosts of repositories that a policy can name.
func GitProviders() []string { return slices.Clone(gitProviders) }

// RemoteSchemes returns the schemes of remotes that a policy can allow.
func RemoteSchemes() []string { return slices.Clone(remoteSchemes) }

// OrdinaryClasses returns the classifications of files that `repository.protect_sensitive_files` takes for not
// sensitive.
func OrdinaryClasses() []string { return slices.Clone(ordinaryClasses) }

// ReadCapabilities returns the capabilities of a database credential that can do no more than read.
func ReadCapabilities() []string { return slices.Clone(readCapabilities) }
