// Package debian lets programs from Debian's packages take part in tests: browsers, proxies, shells, monitoring.
package debian

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Program returns the path of a program. Where it is missing, the test is skipped and says how to install it; in continuous
// integration (CI=true) its package is installed, and the test fails where that is not possible.
func Program(t testing.TB, name, pkg string) string {
	t.Helper()
	if path, err := look(name); err == nil {
		return path
	}
	if os.Getenv("CI") != "true" {
		t.Skipf("%s is not installed; install it as root with: apt-get install -y --no-install-recommends %s", name, pkg)
	}
	install(t, pkg)
	path, err := look(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// look finds a program, also one for administrators, whose folder users do not search.
func look(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return exec.LookPath("/usr/sbin/" + name)
	}
	return path, nil
}

// one keeps tests of a package from installing at the same time. Tests of other packages wait for apt's own lock.
var one sync.Mutex

// install installs a package. Its programs do not start as services, because tests start them themselves.
func install(t testing.TB, pkg string) {
	t.Helper()
	one.Lock()
	defer one.Unlock()
	for _, arguments := range [][]string{{"update", "-q"}, {"install", "-y", "-q", "--no-install-recommends", pkg}} {
		command := exec.Command("apt-get", append([]string{"-o", "DPkg::Lock::Timeout=300"}, arguments...)...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("continuous integration needs the package %s, which is not installed; apt-get %s: %v\n%s", pkg, strings.Join(arguments, " "), err, output)
		}
	}
}
