package intent

import (
	"bailiff/vm"
	"bailiff/vm/form"
)

// derivedRecipients returns the addresses that `to` means. What is no address stays in its place, so that a message can
// tell which one it was.
func derivedRecipients(in *Intent, _ Provenance) vm.Value {
	start := len(in.elements)
	for recipient := range in.Recipients() {
		element := unreadable
		if bare, ok := form.Mailbox.Normal(recipient); ok {
			element = text(bare)
		}
		in.elements = append(in.elements, element)
	}
	if len(in.elements) == start {
		return vm.Value{}
	}
	return in.listFrom(start)
}
