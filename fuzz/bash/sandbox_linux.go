package bash

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"
)

const (
	// sandboxVariable names the folder of the sandbox to a process that serves one.
	sandboxVariable = "BAILIFF_BASH_SANDBOX"

	// userVariable says that the process may change to another user, which the commands run as.
	userVariable = "BAILIFF_BASH_USER"

	// timeLimit is how long one command may run.
	timeLimit = time.Second

	nobody = 65534
)

// witnesses are the blocked programs. A stub of each leaves the witness; that of rm does so only for -rf.
var witnesses = []string{"mark", "touch", "curl", "rm"}

// programs are what else the commands may start, where the machine has it.
var programs = []string{"bash", "dash", "cat", "env", "xargs", "find", "nice", "nohup", "timeout", "setsid", "script", "flock", "sleep"}

// environment is what a command finds beside PATH and HOME. X runs a blocked program, and so do A and B together.
var environment = []string{"X=mark W", "A=ma", "B=rk", "LC_ALL=C", "SHELL=/bin/bash"}

// A Sandbox runs commands, one after the other.
type Sandbox struct {
	server *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	dir    string
}

// ErrNoBash says that there is no bash to run.
var ErrNoBash = errors.New("there is no bash on this machine")

// NewSandbox starts a sandbox in a temporary folder. It runs the executable itself again, whose main function must call
// [Serve] first.
func NewSandbox() (*Sandbox, error) {
	if _, err := exec.LookPath("bash"); err != nil {
		return nil, ErrNoBash
	}
	dir, err := os.MkdirTemp("", "bailiff-bash-")
	if err != nil {
		return nil, err
	}
	const alone = syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	self := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	group := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	var failed error
	for _, attributes := range []*syscall.SysProcAttr{
		{Cloneflags: alone}, // for root
		{Cloneflags: alone | syscall.CLONE_NEWUSER, UidMappings: self, GidMappings: group},
		{},
	} {
		s, err := startSandbox(dir, attributes)
		if err == nil {
			return s, nil
		}
		failed = err
	}
	_ = os.RemoveAll(dir)
	return nil, failed
}

func startSandbox(dir string, attributes *syscall.SysProcAttr) (*Sandbox, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server := exec.Command(self)
	server.Env = []string{sandboxVariable + "=" + dir, "PATH=" + os.Getenv("PATH")}
	if os.Getuid() == 0 && attributes.UidMappings == nil {
		server.Env = append(server.Env, userVariable+"=yes")
	}
	server.Stderr = os.Stderr
	server.SysProcAttr = attributes
	server.SysProcAttr.Pdeathsig = syscall.SIGKILL
	in, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	s := &Sandbox{server, in, bufio.NewReader(out), dir}
	if ready, err := s.out.ReadByte(); err != nil || ready != 'r' {
		s.in.Close()
		_ = server.Wait()
		return nil, fmt.Errorf("the sandbox does not start: %w", err)
	}
	return s, nil
}

// Run runs one command and reports whether it left the witness.
func (s *Sandbox) Run(text string) (witness bool, err error) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	if _, err := s.in.Write(append(frame, text...)); err != nil {
		return false, err
	}
	answer, err := s.out.ReadByte()
	return answer == 'w', err
}

// Close ends the sandbox and everything that still runs in it.
func (s *Sandbox) Close() error {
	s.in.Close()
	return errors.Join(s.server.Wait(), os.RemoveAll(s.dir))
}

// Serve runs the sandbox and exits where the process was started as one; otherwise it returns at once.
func Serve() {
	dir := os.Getenv(sandboxVariable)
	if dir == "" {
		return
	}
	if err := serve(dir); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(dir string) error {
	alone := os.Getpid() == 1
	box, err := furnish(dir, alone)
	if err != nil {
		return err
	}
	if _, err := os.Stdout.Write([]byte{'r'}); err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	for {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return nil // the end of the run
		}
		text := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		answer := byte('-')
		if box.run(string(text)) {
			answer = 'w'
		}
		if _, err := os.Stdout.Write([]byte{answer}); err != nil {
			return err
		}
	}
}

// A box is the inside of a sandbox.
type box struct {
	work, witness, bash string
	environment         []string
	alone               bool // nothing else runs in its process namespace
	changes             bool // commands run as another user
}

// furnish closes the sandbox off, as far as the system lets it, and puts the programs there.
func furnish(dir string, alone bool) (*box, error) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return nil, err
	}
	if alone {
		if err := isolate(dir); err != nil {
			return nil, err
		}
	}
	b := &box{work: filepath.Join(dir, "work"), witness: filepath.Join(dir, "witness", "left"), bash: bash,
		alone: alone, changes: os.Getenv(userVariable) != ""}
	bin := filepath.Join(dir, "bin")
	for _, folder := range []string{bin, b.work, filepath.Dir(b.witness)} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	if err := stubs(bin, b.witness); err != nil {
		return nil, err
	}
	if b.changes {
		for _, folder := range []string{b.work, filepath.Dir(b.witness)} {
			if err := os.Chown(folder, nobody, nobody); err != nil {
				return nil, err
			}
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	b.environment = append([]string{"PATH=" + bin, "HOME=" + b.work}, environment...)
	limit(syscall.RLIMIT_FSIZE, 1<<20)
	limit(syscall.RLIMIT_CORE, 0)
	return b, nil
}

// stubs fills the folder that PATH names.
func stubs(bin, witness string) error {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(bin, name)); err != nil && !os.IsExist(err) {
				return err
			}
		}
	}
	if err := os.Symlink("dash", filepath.Join(bin, "sh")); err != nil && !os.IsExist(err) {
		return err
	}
	for _, name := range witnesses {
		script := "#!/bin/sh\n: >" + witness + "\n"
		if name == "rm" {
			script = "#!/bin/sh\nfor word do case $word in '') ;; -rf*) : >" + witness + "; exit;; *) exit;; esac; done\n"
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"ls", "true", "false", "id"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// isolate makes the file system read-only except for dir, in a mount namespace that is already the process's own.
func isolate(dir string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	if err := readOnly("/"); err != nil {
		return fmt.Errorf("a read-only file system: %w", err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=16m,mode=0755"); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	return nil
}

// readOnly makes a mount and all below it read-only, by mount_setattr(2).
func readOnly(path string) error {
	const (
		sysMountSetattr = 442
		atRecursive     = 0x8000
		attrReadOnly    = 1
	)
	atCWD := -100
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	attributes := struct{ set, clear, propagation, userns uint64 }{set: attrReadOnly}
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(atCWD), uintptr(unsafe.Pointer(name)), atRecursive,
		uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func limit(resource int, value uint64) {
	// A limit that the system keeps lower than this one stays as it is.
	_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}

// run runs one command in a bash of its own, ends what is left of it, and reports and removes the witness.
func (b *box) run(text string) bool {
	b.clear()
	// -t: seconds of processor time, -u: processes, -n: open files.
	cmd := exec.Command("/bin/sh", "-c", `ulimit -t 2 -u 256 -n 64; exec "$0" -c "$1"`, b.bash, text)
	cmd.Dir, cmd.Env = b.work, b.environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if b.changes {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if err := cmd.Start(); err != nil {
		return false
	}
	timer := time.AfterFunc(timeLimit, func() { b.kill(cmd.Process.Pid) })
	_ = cmd.Wait() // whatever it ends with
	timer.Stop()
	if b.alone {
		b.settle()
	}
	b.kill(cmd.Process.Pid)
	_, err := os.Stat(b.witness)
	return err == nil
}

// settle gives what the command left in the background a moment to end.
func (b *box) settle() {
	for range 50 {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && err != nil {
			return // nothing is left
		} else if pid == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// kill ends everything in the sandbox, or at least the session of the command.
func (b *box) kill(pid int) {
	if !b.alone {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		return
	}
	_ = syscall.Kill(-1, syscall.SIGKILL) // all but process 1, which this one is
}

func (b *box) clear() {
	_ = os.Remove(b.witness)
	entries, err := os.ReadDir(b.work)
	if err != nil {
		return
	}
	for _, entry := range entries {
		_ = os.RemoveAll(filepath.Join(b.work, entry.Name()))
	}
}
