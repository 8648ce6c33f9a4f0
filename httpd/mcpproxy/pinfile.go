package mcpproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// A Pin is what the operator's proxy knows of one tool.
type Pin struct {
	SHA256     string          `json:"sha256"` // of the definition that is accepted, in RFC 8785 form
	Definition json.RawMessage `json:"definition"`
	// Changed is the definition that the server shows instead; nil where it shows the accepted one.
	Changed *Change `json:"changed,omitempty"`
}

// A Change is a definition that is not accepted.
type Change struct {
	SHA256     string          `json:"sha256"`
	Definition json.RawMessage `json:"definition"`
}

// Pins are the definitions of a server's tools as they were when first seen or last accepted. They live in a file of mode
// 0600, so that they outlast the proxy; several proxies of one server may use it at once.
type Pins struct {
	server, path string

	mu    sync.Mutex
	tools map[string]Pin
}

// pinsFile is the file's content.
type pinsFile struct {
	Version int            `json:"version"`
	Server  string         `json:"server"`
	Tools   map[string]Pin `json:"tools"`
}

const (
	pinsVersion  = 1
	maxPinsBytes = 64 << 20
)

// OpenPins reads the pins of a server, which need not exist yet. With an empty path they last as long as the process.
func OpenPins(server, path string) (*Pins, error) {
	p := &Pins{server: server, path: path, tools: map[string]Pin{}}
	if path == "" {
		return p, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return p, p.read()
}

// Tools are all pins by the name of the tool.
func (p *Pins) Tools() map[string]Pin {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string]Pin, len(p.tools))
	for name, pin := range p.tools {
		all[name] = pin
	}
	return all
}

// Meet pins tools that are new, and notes which of the others have changed.
func (p *Pins) Meet(tools []tool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(tools, func(t tool) bool { return p.news(t) }) {
		return nil
	}
	return p.change(func() error {
		for _, t := range tools {
			definition := json.RawMessage(slices.Clone(t.definition))
			pin, known := p.tools[t.name]
			switch {
			case !known:
				pin = Pin{SHA256: t.hash, Definition: definition}
			case pin.SHA256 == t.hash:
				pin.Changed = nil
			default:
				pin.Changed = &Change{t.hash, definition}
			}
			p.tools[t.name] = pin
		}
		if len(p.tools) > maxListed {
			return fmt.Errorf("%s would have %d tools; at most %d are allowed", p.name(), len(p.tools), maxListed)
		}
		return nil
	})
}

// news reports whether a tool is not in the pins as it is.
func (p *Pins) news(t tool) bool {
	pin, known := p.tools[t.name]
	switch {
	case !known:
		return true
	case pin.SHA256 == t.hash:
		return pin.Changed != nil
	}
	return pin.Changed == nil || pin.Changed.SHA256 != t.hash
}

// Accepted reports whether hash is the definition of a tool that is accepted. What the operator accepts takes effect at
// the next call.
func (p *Pins) Accepted(name, hash string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tools[name].SHA256 == hash {
		return true, nil
	}
	if p.path == "" {
		return false, nil
	}
	if err := p.read(); err != nil {
		return false, err
	}
	return p.tools[name].SHA256 == hash, nil
}

// Accept accepts the definition that was shown to the operator: hash has to be the one that has changed.
func (p *Pins) Accept(name, hash string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.change(func() error {
		pin := p.tools[name]
		if pin.Changed == nil || pin.Changed.SHA256 != hash {
			return fmt.Errorf("the tool %q has changed again since; look at it once more", name)
		}
		p.tools[name] = Pin{SHA256: hash, Definition: pin.Changed.Definition}
		return nil
	})
}

// change reads the pins anew, changes them and writes them, alone among all processes.
func (p *Pins) change(change func() error) error {
	if p.path == "" {
		return change()
	}
	unlock, err := lockFile(p.path + ".lock")
	if err != nil {
		return fmt.Errorf("%s cannot be locked: %w", p.name(), err)
	}
	defer unlock()
	if err := p.read(); err != nil {
		return err
	}
	before := p.tools
	p.tools = make(map[string]Pin, len(before))
	for name, pin := range before {
		p.tools[name] = pin
	}
	if err := change(); err != nil {
		p.tools = before
		return err
	}
	if err := p.write(); err != nil {
		p.tools = before
		return fmt.Errorf("%s cannot be written: %w", p.name(), err)
	}
	return nil
}

func (p *Pins) name() string { return "the file of pins " + p.path }

// read takes the pins from the file. A file that others may write or read is refused.
func (p *Pins) read() error {
	file, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		p.tools = map[string]Pin{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", p.name(), err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", p.name(), err)
	}
	if err := private(info); err != nil {
		return fmt.Errorf("%s is not private: %w", p.name(), err)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxPinsBytes+1))
	if err == nil && len(text) > maxPinsBytes {
		err = fmt.Errorf("it has more than %d bytes", maxPinsBytes)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", p.name(), err)
	}
	var content pinsFile
	if err := json.Unmarshal(text, &content); err != nil {
		return fmt.Errorf("%s is not JSON: %w; mend it, or remove it to pin the tools anew", p.name(), err)
	}
	if content.Version != pinsVersion || content.Server != p.server {
		return fmt.Errorf("%s is of version %d and server %q; expected: version %d, server %q", p.name(), content.Version, content.Server, pinsVersion, p.server)
	}
	if content.Tools == nil {
		content.Tools = map[string]Pin{}
	}
	p.tools = content.Tools
	return nil
}

// write replaces the file.
func (p *Pins) write() error {
	text, err := json.Marshal(pinsFile{pinsVersion, p.server, p.tools})
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(p.path), ".pins-") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(text)
	if err = errors.Join(err, fresh.Sync(), fresh.Close()); err != nil {
		return err
	}
	return os.Rename(fresh.Name(), p.path)
}
