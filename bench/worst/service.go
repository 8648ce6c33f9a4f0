package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bailiff/fuzz/kit/port"
)

// A service is a hosted service in a control group.
type service struct {
	command  *exec.Cmd
	address  string // of the API
	monitor  string // of the metrics; empty for a floor
	profiler string // of the profiles
	ended    chan struct{}
	err      error // how it ended; to be read when ended is closed
	log      tail
	binary   string
	data     string
	most     atomic.Int64 // bytes of resident memory that were seen
}

// patience is how long a service may take to start, to answer, to give back what an attack took, and to stop. It is long: a
// machine that is slow or busy is not a fault of the service.
const patience = 2 * time.Minute

// patiently does something until it succeeds, for as long as patience.
func (s *service) patiently(do func() error) (err error) {
	for until := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if err = do(); err == nil || s.over() || time.Now().After(until) {
			return err
		}
	}
}

// openFiles is how many files a service may open where a row says nothing else.
const openFiles = 8192

var serving = regexp.MustCompile(`msg=serving .*address=(\S+)`)

// start starts a service in a group, which may open so many files.
func start(ctx context.Context, binary, data string, g *group, files int, node string) (*service, error) {
	monitor, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	profiler, err := port.FreeAddress()
	if err != nil {
		return nil, err
	}
	s, err := startIn(ctx, g, files, []string{binary, "serve"},
		"SVC_HOSTED=true", "SVC_DATA_DIR="+data, "SVC_LISTEN=127.0.0.1:0", "SVC_ADMIN_LISTEN="+monitor, "SVC_PPROF_LISTEN="+profiler, "SVC_WEBHOOK_ALLOW_PRIVATE=true", "SVC_RPC_URL_1="+node)
	if err == nil {
		s.binary, s.data, s.monitor, s.profiler = binary, data, monitor, profiler
	}
	return s, err
}

// operate runs one of the operator's commands.
func (s *service) operate(arguments ...string) ([]byte, error) {
	command := exec.Command(s.binary, arguments...)
	command.Env = append(plainEnviron(), "SVC_DATA_DIR="+s.data)
	return command.CombinedOutput()
}

// startIn starts what says on its standard error where it serves, in a group, with so many files that it may open.
func startIn(ctx context.Context, g *group, files int, what []string, environ ...string) (*service, error) {
	if files == 0 {
		files = openFiles
	}
	// The shell joins the group and becomes the service.
	command := exec.CommandContext(ctx, "sh", append([]string{"-c", `echo $$ >"$1" && ulimit -n "$2" && shift 2 && exec "$@"`, "sh", g.procs(), strconv.Itoa(files)}, what...)...)
	command.Env = append(plainEnviron(), environ...)
	output, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	s := &service{command: command, ended: make(chan struct{})}
	found := make(chan string, 1)
	go s.follow(output, found)
	go s.watch()
	select {
	case s.address = <-found:
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("the service did not start: %w\n%s", s.err, s.log.String())
	case <-time.After(patience):
		return nil, errors.Join(errors.New("the service does not start"), s.stop())
	}
}

// follow reads the log until the service ends.
func (s *service) follow(log io.Reader, found chan<- string) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		s.log.add(lines.Text())
		if at := serving.FindStringSubmatch(lines.Text()); at != nil {
			found <- at[1]
		}
	}
	_, _ = io.Copy(io.Discard, log) // after a line that is too long
	s.err = s.command.Wait()
	close(s.ended)
}

// alive returns why the service does not answer any more, if so.
func (s *service) alive() error {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if s.over() {
			return fmt.Errorf("the service ended: %w\n%s", s.err, s.log.String())
		}
		_, err := call(plainClient, http.MethodGet, "http://"+s.address+"/healthz", "", nil)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// stop ends the service.
func (s *service) stop() error {
	if s.over() {
		return nil // which alive has told
	}
	_ = s.command.Process.Signal(syscall.SIGTERM) // it may end meanwhile
	select {
	case <-s.ended:
		return s.stopFault()
	case <-time.After(patience):
		err := errors.Join(errors.New("the service does not stop"), s.command.Process.Kill())
		<-s.ended
		return err
	}
}

// tooSlow is in the log of a service that took longer to stop than it allows itself.
const tooSlow = "did not end in time"

// stopFault says what is wrong with how the service ended that was told to. It is not a fault that the machine was too slow for
// all requests to end.
func (s *service) stopFault() error {
	var exit *exec.ExitError
	if s.err == nil || errors.As(s.err, &exit) && exit.ExitCode() == 1 && strings.Contains(s.log.String(), tooSlow) {
		return nil
	}
	return fmt.Errorf("the service was to stop: %w\n%s", s.err, s.log.String())
}

var resident = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// watch notes the most memory that the service has had (proc(5), status), until it ends.
func (s *service) watch() {
	for !s.over() {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
		if found := resident.FindSubmatch(text); found != nil {
			kilo, _ := strconv.ParseInt(string(found[1]), 10, 64)
			s.most.Store(kilo << 10)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// stored is how much the service keeps on disk, in bytes.
func (s *service) stored() (bytes int64) {
	_ = filepath.WalkDir(s.data, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				bytes += info.Size()
			}
		}
		return nil // what has gone meanwhile does not count
	})
	return bytes
}

// over reports whether the service has ended.
func (s *service) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// A tail is the end of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, line); len(t.lines) > 20 {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// plainEnviron is the environment without settings of a service that the developer may have, and without a bound of memory
// other than the group's.
func plainEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "SVC_") || strings.HasPrefix(entry, "WARRANTY_PATH=") || strings.HasPrefix(entry, "GOMEMLIMIT=")
	})
}

var plainClient = clientFrom(loopback(1, 1))

// loopback is one of the addresses of this machine, each of which is a source of its own.
func loopback(network, host int) net.IP { return net.IPv4(127, 0, byte(network), byte(host)) }

// clientFrom returns a client at an address, which makes a connection for each request.
func clientFrom(ip net.IP) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: ip}}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
}

// call sends a request with a key, where there is one. An answer that is not a success is an error.
func call(client *http.Client, method, url, key string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s %.300s", request.URL.Path, response.Status, text)
	}
	return text, err
}
