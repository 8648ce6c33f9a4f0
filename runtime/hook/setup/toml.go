package setup

import (
	"fmt"
	"path/filepath"

	"github.com/BurntSushi/toml"
)

// OtherFile is a further file in which a host's hooks may be, beside its settings; empty where there is none.
func (h *Host) OtherFile(settings string) string {
	if h.other == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(settings), h.other)
}

// OtherHooks returns the hooks of a further file, which is TOML, of the events that the host's adapter is called for. Bailiff
// writes none there.
func (h *Host) OtherHooks(text []byte) ([]Hook, error) {
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", len(text), MaxBytes)
	}
	var root map[string]any
	if _, err := toml.Decode(string(text), &root); err != nil {
		return nil, fmt.Errorf("it is not TOML (%w); mend it first", err)
	}
	return h.hooksIn(normal(root)), nil
}
