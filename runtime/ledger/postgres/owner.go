package pgledger

// An Owner is the instance that decides, as one that waits for it sees it.
type Owner struct {
	Name string
	Peer string // the address at which it takes requests from others; "" where it takes none
	id   string
	gone chan struct{}
}

// Gone is closed when the instance does not decide any more.
func (o *Owner) Gone() <-chan struct{} { return o.gone }

// waitsFor notes which instance the process waits for; the zero value where it does not wait, or none decides.
func (f *life) waitsFor(owner instance) {
	before := f.owner.Load()
	if before != nil && before.id == owner.id && before.Peer == owner.peer {
		return
	}
	var next *Owner
	if owner.id != "" {
		next = &Owner{Name: owner.name, Peer: owner.peer, id: owner.id, gone: make(chan struct{})}
	}
	if before := f.owner.Swap(next); before != nil { // each is swapped out once
		close(before.gone)
	}
}
