package strict

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// TestSlowClientsAreTold shuts down while clients are slow: each that comes while others do is told to close its connection, also when the
// first of them came long before. One that says nothing is not waited for.
func TestSlowClientsAreTold(t *testing.T) {
	t.Parallel()
	var server *Server
	server = NewServer(&fasthttp.Server{CloseOnShutdown: true, Handler: func(ctx *fasthttp.RequestCtx) {
		if server.Draining() {
			ctx.SetConnectionClose()
		}
	}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var clients []net.Conn
	for range 4 {
		client, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if closes, err := ask(client); closes || err != nil {
			t.Fatalf("before Shutdown: closes %t, %v", closes, err)
		}
		clients = append(clients, client)
	}
	silent, slow := clients[0], clients[1:]
	ended := make(chan error, 1)
	go func() { ended <- server.Shutdown(t.Context()) }()
	for last := time.Now(); len(slow) > 0; slow = slow[1:] {
		time.Sleep(drainTime * 3 / 5) // the second one comes after drainTime
		if pause := time.Since(last); pause > drainTime*4/5 {
			t.Skipf("this machine made a pause of %v", pause)
		}
		last = time.Now()
		if closes, err := ask(slow[0]); !closes || err != nil {
			t.Errorf("while %d clients are still to come: closes %t, %v", len(slow)-1, closes, err)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := silent.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the silent client: %v", err)
	}
}

// ask sends a request over a connection, and returns whether its answer says that the connection closes.
func ask(client net.Conn) (closes bool, err error) {
	if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return false, err
	}
	response, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	return response.Close, nil
}
