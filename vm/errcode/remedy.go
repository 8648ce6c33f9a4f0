package errcode

// Retry says whether a client may send the same request again.
type Retry uint8

// The kinds of Retry.
const (
	// Never: the same request is refused again for as long as the policy is in force.
	Never Retry = iota
	// Mended: the same request may succeed once something outside of it has been mended.
	Mended
	// Later: the same request may succeed by itself. Pause before each attempt, and longer each time.
	Later
)

// String says the same to a client's author.
func (r Retry) String() string {
	switch r {
	case Mended:
		return "yes, once that is done"
	case Later:
		return "yes, later: pause as long as Retry-After says or, without it, longer after each attempt"
	}
	return "no: the same request gets the same answer; change the request, or have the policy changed"
}

// A Remedy is what to do about a code.
type Remedy struct {
	Do    string // in sentences
	Retry Retry
}
