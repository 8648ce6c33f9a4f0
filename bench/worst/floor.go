package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/valyala/fasthttp"
)

// serveFloor answers every request at once, as a server does that has nothing to do but to read it. What the customers of
// it see under an attack is what the machine, the network and the attacker take.
func serveFloor() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "msg=serving address=%s\n", l.Addr())
	server := &fasthttp.Server{
		ReadTimeout: floorTimeout, WriteTimeout: floorTimeout, ReadBufferSize: 32 << 10, MaxRequestBodySize: 2 << 20,
		Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString(floorAnswer) },
	}
	return server.Serve(l)
}

const (
	// floorTimeout is the one that the service has.
	floorTimeout = 15 * time.Second
	// floorAnswer is what a customer and an attacker want to see.
	floorAnswer = `{"status":"ALLOWED","api_key":"sk_svc_floor","holdId":"00000000-0000-4000-8000-000000000000"}`
)

// floor attacks a server that does nothing as often as the service was attacked, and returns what customers see.
func (o *options) floor(ctx context.Context, g *group, row attack, begun int64) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	return o.floorBy(ctx, self, g, row, begun)
}

// floorBy is floor with the binary that is the server.
func (o *options) floorBy(ctx context.Context, self string, g *group, row attack, begun int64) (figures, error) {
	s, err := startIn(ctx, g, row.files, []string{self, "-serve-floor"})
	if err != nil {
		return figures{}, err
	}
	defer s.kill()
	c, err := newCustomers(s)
	if err != nil {
		return figures{}, err
	}
	a := &attacker{service: s, pace: float64(begun) / o.each.Seconds()}
	if row.prepare != nil {
		if err := row.prepare(a); err != nil {
			return figures{}, fmt.Errorf("preparing: %w", err)
		}
	}
	during, end := context.WithTimeout(ctx, o.each)
	defer end()
	a.launch(during, row)
	seen := c.ask(during)
	a.wait()
	return seen, nil
}

// kill ends a floor, which has nothing to keep.
func (s *service) kill() {
	_ = s.command.Process.Kill() // it may have ended
	<-s.ended
}
