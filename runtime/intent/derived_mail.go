package intent

import (
	"strings"

	"bailiff/vm"
	"bailiff/vm/mailbox"
	"bailiff/vm/weburl"
)

// derivedRecipients returns the addresses that `to` means. What is no address stays in its place, so that a message can
// tell which one it was.
func derivedRecipients(in *Intent, _ Provenance) vm.Value {
	start := len(in.elements)
	for recipient := range in.Recipients() {
		element := unreadable
		if bare, ok := mailboxOf(recipient); ok {
			element = text(bare)
		}
		in.elements = append(in.elements, element)
	}
	if len(in.elements) == start {
		return vm.Value{}
	}
	return in.listFrom(start)
}

// mailboxOf returns the bare address that a recipient means. A domain outside of ASCII is put into the ASCII form by which
// mail finds it, since the same domain has many spellings: another would pass a list that blocks one.
func mailboxOf(recipient string) (bare string, ok bool) {
	bare, ok = mailbox.Parse(recipient)
	local, domain, _ := strings.Cut(bare, "@")
	if !ok || isASCII(domain) {
		return bare, ok
	}
	host, err := weburl.Host(domain)
	return local + "@" + host, err == nil
}
