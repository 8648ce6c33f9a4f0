package e2e

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unpack writes the files of an archive below the site's folder.
func (s *site) unpack(archive string) {
	s.t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		s.t.Fatal(err)
	}
	for files := tar.NewReader(plain); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			s.t.Fatal(err)
		}
		path := s.path(head.Name)
		if head.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				s.t.Fatal(err)
			}
			continue
		}
		content, err := io.ReadAll(files)
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// message is the part of an event whose words may change.
var message = regexp.MustCompile(`,"message":"[^"]*"`)

// TestDirectoryOfBefore opens the data of an earlier build: keys, policies, decisions, a hold, a webhook, a checkpoint, and a log
// whose service was killed. The record verifies, the events read as they did, and limits, keys and holds are where they were.
func TestDirectoryOfBefore(t *testing.T) {
	t.Parallel()
	s := newHosted(t)
	s.unpack(filepath.Join("testdata", "directory.tgz"))
	text, err := os.ReadFile(filepath.Join("testdata", "directory.txt"))
	if err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	rest := string(text)
	for !strings.HasPrefix(rest, "{") {
		line, after, _ := strings.Cut(rest, "\n")
		name, value, _ := strings.Cut(line, " ")
		facts[name], rest = value, after
	}
	if said, code := s.verify(s.path("data")); code != 0 || !strings.Contains(said, "verified: 35 records in 24 groups") || !strings.Contains(said, "at record 35 fits") {
		t.Fatalf("exit %d, %s", code, said)
	}
	service := s.start()
	key := facts["key"]
	list, _ := service.page(t, key, "")
	before, _, _ := strings.Cut(list.raw(), `{"lsn":36,`) // the directory's hold has expired by now, which the service records
	if got, want := message.ReplaceAllString(before, ""), message.ReplaceAllString(rest, ""); got != want {
		t.Errorf("the events are\n%s\nand were\n%s", got, want)
	}
	hook := read[[]webhook](t, service.send("GET", "/v1/webhooks", key, ""), 200)
	if len(hook) != 1 || hook[0].ID != facts["webhook"] || hook[0].Disabled {
		t.Errorf("webhooks: %+v", hook)
	}
	service.ask("/v1/authorize", key, listing)
	list, events := service.page(t, key, "?after=35")
	events = slices.DeleteFunc(events, func(e logged) bool { return e.Event == "hold.expired" })
	if len(events) != 1 || events[0].LSN <= 35 || events[0].Event != "decision" {
		t.Errorf("what is recorded next: %s", list.raw())
	}
	if err := service.stop(); err != nil {
		t.Fatal(err)
	}
	if said, code := s.verify(s.path("data")); code != 0 {
		t.Errorf("after another decision: exit %d, %s", code, said)
	}
}
