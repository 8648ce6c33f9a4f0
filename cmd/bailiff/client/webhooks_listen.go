package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/webhook"
)

type webhooksListenCommand struct {
	Port       uint16 `default:"8789" help:"Port on 127.0.0.1 (${default}; 0: any that is free)." placeholder:"PORT"`
	Secret     string `help:"The webhook's secret (whsec_…)." placeholder:"SECRET" xor:"secret"`
	SecretFile string `help:"File of the secret." placeholder:"FILE" xor:"secret"`
	Count      int    `help:"End after so many deliveries that verify." placeholder:"N"`
	Status     int    `default:"204" help:"The status to answer good deliveries with (${default}); another shows how the service tries again." placeholder:"STATUS"`
}

// Help says how to have a service deliver here.
func (c *webhooksListenCommand) Help() string {
	return `Verifies deliveries, and prints them; of what does not verify it prints the reason, and answers 401. A service delivers
to http://127.0.0.1:PORT only where SVC_WEBHOOK_ALLOW_PRIVATE is true.`
}

// Run listens until a signal comes, or as many deliveries as --count says have.
func (c *webhooksListenCommand) Run(std cli.Streams) error {
	receiver, err := c.receiver(std)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: receiver, ReadTimeout: ClientTimeout, WriteTimeout: ClientTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(std.Err, "listening on http://%s\n", listener.Addr())
	select {
	case <-ctx.Done():
	case <-receiver.enough:
	case err := <-served:
		return err
	}
	ending, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return server.Shutdown(ending)
}

// countingReceiver ends after so many good deliveries, and answers them as it was told.
type countingReceiver struct {
	*webhook.Receiver
	status int
	mutex  sync.Mutex
	left   int // good deliveries to come; never reaches 0 where it starts there
	enough chan struct{}
}

func (c *webhooksListenCommand) receiver(std cli.Streams) (*countingReceiver, error) {
	if c.Status < 200 || c.Status > 599 {
		return nil, cli.Usage("--status %d: give 200 to 599", c.Status)
	}
	if c.Secret == "" && c.SecretFile == "" {
		return nil, cli.Usage("there is no secret; give --secret-file FILE or --secret SECRET")
	}
	text := c.Secret
	if c.SecretFile != "" {
		content, err := cli.ReadBounded(std, c.SecretFile, maxAPIKeyBytes)
		if err != nil {
			return nil, err
		}
		text = string(content)
	}
	secret, err := webhook.ParseSecret(strings.TrimSpace(text))
	if err != nil {
		return nil, cli.Usage("the secret: %v", err)
	}
	inner, err := webhook.NewReceiver(secret, cli.SeenWriter{Writer: std.Out})
	if err != nil {
		return nil, err
	}
	return &countingReceiver{Receiver: inner, status: c.Status, left: c.Count, enough: make(chan struct{})}, nil
}

// ServeHTTP takes one delivery.
func (r *countingReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	answer := &statusWriter{ResponseWriter: w, good: r.status}
	r.Receiver.ServeHTTP(answer, request)
	if !answer.verified {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.left--; r.left == 0 {
		close(r.enough)
	}
}

// statusWriter puts another status in the place of the receiver's own for good deliveries, and notes that there was one.
type statusWriter struct {
	http.ResponseWriter
	good     int
	verified bool
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if status == http.StatusNoContent {
		w.verified, status = true, w.good
	}
	w.ResponseWriter.WriteHeader(status)
}
