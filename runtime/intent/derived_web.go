package intent

import (
	"bailiff/vm"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/slot"
)

// derivedHosts returns the host of url; where it is an IPv6 literal that holds IPv4 addresses, a list of it and those.
func derivedHosts(in *Intent, from Provenance) vm.Value {
	embedded := httpurl.Embedded(in.url.Host)
	if len(embedded) == 0 {
		return derivedHost(in, from)
	}
	start := len(in.elements)
	in.elements = append(in.elements, text(in.url.Host))
	for _, address := range embedded {
		in.elements = append(in.elements, text(address))
	}
	return in.listFrom(start)
}

func derivedDecodedPath(in *Intent, _ Provenance) vm.Value {
	if !in.Has(slot.URL) {
		return vm.Value{}
	}
	decoded := in.url.DecodedPath()
	return textIf(decoded != in.url.Path, decoded)
}

func derivedDecodedURL(in *Intent, _ Provenance) vm.Value {
	if !in.Has(slot.URL) {
		return vm.Value{}
	}
	decoded := in.url.Decoded()
	return textIf(decoded != in.Text(slot.URL), decoded)
}
