package pgtest_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailiff/fuzz/kit/pgtest"
)

// TestPair starts a primary and its standby, kills the primary, promotes the standby, and gives it one of its own.
func TestPair(t *testing.T) {
	primary, standby := pgtest.StartPair(t)
	reachable := func(s *pgtest.Server) bool {
		_, folder, _ := strings.Cut(s.URL(), "host=")
		conn, err := net.Dial("unix", filepath.Join(folder, ".s.PGSQL.5432"))
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	if !reachable(primary) || !reachable(standby) {
		t.Fatal("a server that was started does not listen")
	}
	primary.Freeze()()
	primary.Kill()
	if reachable(primary) {
		t.Error("a server that was killed listens")
	}
	standby.Promote()
	if _, folder, _ := strings.Cut(standby.URL(), "host="); exists(filepath.Join(folder, "standby.signal")) {
		t.Error("a server that was promoted is a standby")
	}
	standby.Standbys("standby")
	if next := standby.NewStandby(); !reachable(next) {
		t.Error("a new standby does not listen")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
