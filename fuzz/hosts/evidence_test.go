package hosts

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bailiff/fuzz/kit/npm"
)

// TestEvidence finds every rule that counts as proved in the package in which it was read. It downloads 0.7 GB, so
// that it runs where BAILIFF_HOSTS=true asks for it (make hosts). Nothing of the packages is run.
func TestEvidence(t *testing.T) {
	if os.Getenv("BAILIFF_HOSTS") != "true" {
		t.Skip("BAILIFF_HOSTS=true downloads the hosts' packages and finds the evidence of the rules in them")
	}
	keys := map[Source][]string{} // the texts that are looked for, by file
	for _, h := range slices.Concat(Columns, Plugins) {
		rules := append(slices.Clone(h.Rules), Rule{Source: h.Waits})
		for _, fact := range h.Facts {
			rules = append(rules, Rule{Source: fact.Source})
		}
		for _, rule := range rules {
			if rule.Proved() {
				file := rule.Source.at("")
				keys[file] = append(keys[file], rule.Source.Key)
			}
		}
	}
	archives := map[string]string{}
	for file, wanted := range keys {
		spec := file.Package + "@" + file.Version
		if archives[spec] == "" {
			dir := t.TempDir()
			name, err := npm.Run(t, 10*time.Minute, dir, nil, "npm", "pack", "--silent", spec)
			if err != nil {
				t.Fatalf("%s: %v", spec, err)
			}
			archives[spec] = filepath.Join(dir, strings.TrimSpace(string(name)))
		}
		missing, err := missingIn(archives[spec], file.File, wanted)
		if err != nil {
			t.Fatalf("%s, %s: %v", spec, file.File, err)
		}
		for _, key := range missing {
			t.Errorf("%s, %s lacks %q", spec, file.File, key)
		}
	}
}

// missingIn returns the texts that a file of a package lacks; after "!" the file's name is one in an archive inside of it.
func missingIn(archive, name string, texts []string) (missing []string, err error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name, inner, nested := strings.Cut(name, "!")
	err = eachFile(f, path.Join("package", name), func(content io.Reader) error {
		if !nested {
			missing, err = absent(content, texts)
			return err
		}
		return eachInner(content, inner, func(content io.Reader) error {
			missing, err = absent(content, texts)
			return err
		})
	})
	return missing, err
}

// eachFile finds a file in a compressed archive.
func eachFile(archive io.Reader, name string, found func(io.Reader) error) error {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	files := tar.NewReader(plain)
	for {
		header, err := files.Next()
		if err != nil {
			return fmt.Errorf("no file %s: %w", name, err)
		}
		if path.Clean(header.Name) == name {
			return found(files)
		}
	}
}

// errNone says that no archive inside of a file has the file that is looked for.
var errNone = errors.New("no archive inside has the file")

// eachInner finds a file in a compressed archive that begins anywhere in content.
func eachInner(content io.Reader, name string, found func(io.Reader) error) error {
	whole, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	for magic := []byte{0x1f, 0x8b, 8}; ; whole = whole[1:] {
		start := bytes.Index(whole, magic)
		if start < 0 {
			return errNone
		}
		whole = whole[start:]
		if err := eachFile(bytes.NewReader(whole), name, found); err == nil {
			return nil
		}
	}
}

// absent returns the texts that content lacks, reading it once.
func absent(content io.Reader, texts []string) ([]string, error) {
	const step = 1 << 20
	seen, longest := make([]bool, len(texts)), 0
	for _, text := range texts {
		longest = max(longest, len(text))
	}
	reader := bufio.NewReaderSize(content, step)
	window := make([]byte, 0, step+longest)
	for {
		n, err := io.ReadFull(reader, window[len(window):min(cap(window), len(window)+step)])
		window = window[:len(window)+n]
		for i, text := range texts {
			seen[i] = seen[i] || bytes.Contains(window, []byte(text))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		kept := copy(window, window[max(0, len(window)-longest):])
		window = window[:kept]
	}
	var missing []string
	for i, text := range texts {
		if !seen[i] {
			missing = append(missing, text)
		}
	}
	return missing, nil
}

// TestAbsent is the canary of the search: it finds what is there, across the borders of its steps too, and nothing else.
func TestAbsent(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("x", 1<<20-3) + "border" + strings.Repeat("y", 3<<20) + "end"
	missing, err := absent(strings.NewReader(content), []string{"border", "end", "xx", "borders", "bordery", "nowhere"})
	if err != nil || strings.Join(missing, " ") != "borders nowhere" {
		t.Errorf("missing %q, %v", missing, err)
	}
}

// TestProved: of the hosts whose packages can be had each rule is proved, but for the ones named here.
func TestProved(t *testing.T) {
	t.Parallel()
	without := map[string]bool{"cursor": true, "windsurf": true, "hermes": true} // no npm package
	for _, h := range slices.Concat(Columns, Plugins) {
		for _, rule := range h.Rules {
			allowed := without[h.Name] || h.Name == "copilot" && strings.HasPrefix(rule.Name, "exit 0 with no denial")
			if rule.Proved() == allowed {
				t.Errorf("%s, %s: proved %v", h.Name, rule.Name, rule.Proved())
			}
		}
	}
}
