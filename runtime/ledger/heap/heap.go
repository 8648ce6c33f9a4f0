// Package heap is a binary heap of values that know their order. The ledger's queues of expiries and deadlines are heaps.
package heap

// An item has a place in an order.
type item[T any] interface {
	// Before reports whether the item comes before another.
	Before(other T) bool
}

// A Heap gives back the first of its items. The zero value is empty and ready. It is not safe for concurrent use.
type Heap[T item[T]] struct{ items []T }

// Restore returns the heap that had the items, in the order in which Items gave them.
func Restore[T item[T]](items []T) Heap[T] { return Heap[T]{items} }

// Items returns all items, in the heap's own order. They are the heap's.
func (h *Heap[T]) Items() []T { return h.items }

// Len returns the number of items.
func (h *Heap[T]) Len() int { return len(h.items) }

// Min returns the first item, which stays. The heap must not be empty.
func (h *Heap[T]) Min() T { return h.items[0] }

// Push adds an item.
func (h *Heap[T]) Push(item T) {
	h.items = append(h.items, item)
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.items[i].Before(h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

// Pop removes the first item and returns it. The heap must not be empty.
func (h *Heap[T]) Pop() T {
	first, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	var zero T
	h.items[last] = zero
	h.items = h.items[:last]
	h.sink(0)
	return first
}

// Keep drops all items but those that keep wants.
func (h *Heap[T]) Keep(keep func(T) bool) {
	var kept []T
	for _, item := range h.items {
		if keep(item) {
			kept = append(kept, item)
		}
	}
	h.items = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

func (h *Heap[T]) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.items); child++ {
			if h.items[child].Before(h.items[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.items[i], h.items[least] = h.items[least], h.items[i]
		i = least
	}
}
