package grammar

// What a policy may measure. All of it is checked before the productions run, whose time and memory are
// linear in what is left. Nothing nests: a block holds lines, a line holds items, and that is all.
const (
	// MaxBytes bounds a policy with its signature. It comes from the format; real policies have a few
	// kilobytes, and a deployment request that carries one stays below its own bound.
	MaxBytes = 256 << 10

	// MaxLines bounds the lines. A line costs more to parse than its bytes do, so that 256 KiB of the
	// shortest entries would take many times as long as any real policy. The largest have a few hundred.
	MaxLines = 10_000

	// MaxLineBytes bounds one line: enough for more than a thousand addresses in one list.
	MaxLineBytes = 64 << 10

	// MaxSegments bounds the names and words of one key. A path into a request of depth 32 needs no more.
	MaxSegments = 32

	// MaxItems bounds the items of one list, of which each costs a token and a node of the tree.
	MaxItems = 4096
)
