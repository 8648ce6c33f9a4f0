package resource

// What an effect does.
const (
	reads traits = 1 << iota
	writes
	writesBytes
	deletesBytes
	destroys
	takesAlong
)

// effects is the one table of what can be done to a file.
var effects = newVocabulary([]row{
	{"read", reads},
	{"create", writes | writesBytes},
	{"overwrite", writes | writesBytes | destroys},
	{"append", writes | writesBytes},
	{"truncate", writes | deletesBytes | destroys},
	{"delete", writes | deletesBytes | destroys | takesAlong},
	{"rename", writes | destroys | takesAlong},
	{"copy", reads | writes | writesBytes | takesAlong},
	{"hard_link", writes | takesAlong},
	{"symlink", writes},
	{"chmod", writes | takesAlong},
	{"chown", writes | takesAlong},
	{"xattr", writes | takesAlong},
	{"execute", reads},
	{Egress, reads | takesAlong},
})

// Effects returns what can be done to a file.
func Effects() []string { return effects.names() }

// IsEffect reports whether text is an effect.
func IsEffect(text string) bool { return effects.has(text, known) }

// Reads reports whether an effect reads its targets. What reads is held to the read roots.
func Reads(effect string) bool { return effects.has(effect, reads) }

// Writes reports whether an effect changes its targets, or the directories they are in. What writes is held to the
// write roots.
func Writes(effect string) bool { return effects.has(effect, writes) }

// WritesBytes reports whether the bytes of an effect's targets count as written.
func WritesBytes(effect string) bool { return effects.has(effect, writesBytes) }

// DeletesBytes reports whether the bytes of an effect's targets count as deleted.
func DeletesBytes(effect string) bool { return effects.has(effect, deletesBytes) }

// Destroys reports whether an effect takes something away that was at its targets.
func Destroys(effect string) bool { return effects.has(effect, destroys) }

// TakesAlong reports whether an effect on a directory reaches what the directory holds.
func TakesAlong(effect string) bool { return effects.has(effect, takesAlong) }
