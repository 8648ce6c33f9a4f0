package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A driver keeps a pace over connections, as one thread with one wait for all of them. Goroutines would do it in half of
// the code, but their scheduler takes as much of the machine's cores as the server under test needs, wakes them
// milliseconds late while the cores are busy, and so measures itself.
type driver struct {
	Pace
	poll   int // epoll's file descriptor
	events []unix.EpollEvent
	free   []*flight
	left   int // requests without an answer
}

// A flight is a connection with the request that is under way on it.
type flight struct {
	*Client
	file   *os.File // of its connection
	socket int      // its descriptor
	due    time.Time
	filled int // bytes of the answer that have arrived
}

// drive is Drive.
func (p *Pace) drive(clients []*Client, patience time.Duration) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d := &driver{Pace: *p, events: make([]unix.EpollEvent, len(clients)), left: p.Requests}
	if d.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(d.poll)
	flights, err := d.enter(clients)
	defer func() {
		for _, f := range flights {
			err = errors.Join(err, f.file.Close())
		}
	}()
	if err != nil {
		return err
	}
	d.free = slices.Clone(flights)
	d.start = time.Now()
	for end := d.start.Add(patience); d.left > 0; {
		if err := d.turn(flights, end); err != nil {
			return err
		}
		if d.Answered != nil {
			d.Answered(d.Requests - d.left)
		}
	}
	return nil
}

// enter opens a connection beside each client's, and has epoll watch it. The clients' are the runtime's, one of whose
// threads would be woken for every answer, on the cores that are measured.
func (d *driver) enter(clients []*Client) (flights []*flight, err error) {
	for i, one := range clients {
		f, err := beside(one)
		if err != nil {
			return flights, err
		}
		flights = append(flights, f)
		f.socket = int(f.file.Fd()) // which makes it wait
		if err := unix.SetNonblock(f.socket, true); err != nil {
			return flights, err
		}
		f.raw.socket = socket(f.socket)
		if f.tls == nil {
			f.connection = f.raw
		}
		if err := unix.EpollCtl(d.poll, unix.EPOLL_CTL_ADD, f.socket, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			return flights, fmt.Errorf("watching a connection: %w", err)
		}
	}
	return flights, nil
}

// beside opens another connection like the client's, which has had one answer. The runtime knows nothing of its file.
func beside(one *Client) (*flight, error) {
	another, err := Dial(one.raw.RemoteAddr().String(), one.tls, one.Shot)
	if err != nil {
		return nil, err
	}
	defer another.raw.Conn.Close()
	if err := another.Exchange(); err != nil {
		return nil, err
	}
	file, err := another.raw.Conn.(*net.TCPConn).File()
	return &flight{Client: another, file: file}, err
}

// turn sends what is due, waits until something is or has arrived, and reads that.
func (d *driver) turn(flights []*flight, end time.Time) error {
	for len(d.free) > 0 && d.waiting() <= 0 {
		f := d.free[len(d.free)-1]
		d.free = d.free[:len(d.free)-1]
		f.due, f.filled = d.due(d.sent), 0
		if d.Shot != nil {
			f.Client.Shot = d.Shot(d.sent)
		}
		d.sent++
		if err := f.send(); err != nil {
			return err
		}
	}
	rest := time.Until(end)
	if rest <= 0 {
		return fmt.Errorf("%d requests have no answer", d.left)
	}
	if len(d.free) > 0 {
		rest = min(rest, max(0, d.waiting()))
	}
	n, err := d.wait(rest)
	for _, e := range d.events[:n] {
		if err := d.receive(flights[e.Fd]); err != nil {
			return err
		}
	}
	return err
}

// wait waits for answers, to some microseconds. The runtime is not told that the thread waits: it would look after it
// fifty thousand times a second.
func (d *driver) wait(rest time.Duration) (int, error) {
	length := unix.NsecToTimespec(rest.Nanoseconds())
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(d.poll), uintptr(unsafe.Pointer(&d.events[0])), uintptr(len(d.events)),
		uintptr(unsafe.Pointer(&length)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case syscall.EINTR:
		return 0, nil
	case syscall.ENOSYS:
		return 0, errOpenLoop
	}
	return 0, fmt.Errorf("waiting for answers: %w", errno)
}

// send writes the request. A connection without anything under way takes it whole.
func (f *flight) send() error {
	n, err := f.connection.Write(f.Request)
	if err == nil && n < len(f.Request) {
		err = io.ErrShortWrite
	}
	return err
}

// receive reads what has arrived of an answer, and frees the connection where that is all of it.
func (d *driver) receive(f *flight) error {
	for {
		n, err := f.connection.Read(f.buffer[f.filled:])
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return nil
		case err != nil:
			return fmt.Errorf("the answer ends after %d bytes: %w", f.filled, err)
		}
		f.filled += n
		whole, err := f.accept(f.filled)
		if err != nil {
			return err
		}
		if whole {
			break
		}
		if f.tls == nil { // TLS may have more than one record, and epoll knows nothing of those that are read
			return nil
		}
	}
	d.left--
	d.free = append(d.free, f)
	if f.other {
		return nil
	}
	return f.record(time.Since(f.due))
}

// A socket is a non-blocking connection. A read before data arrive ends with EAGAIN; TLS can be read again after that.
type socket int

func (s socket) Read(b []byte) (int, error) {
	n, err := retried(unix.SYS_READ, int(s), b)
	if err == nil && n == 0 && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (s socket) Write(b []byte) (int, error) { return retried(unix.SYS_WRITE, int(s), b) }

// retried is a read or write until it is not interrupted.
func retried(call uintptr, socket int, b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall(call, uintptr(socket), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
