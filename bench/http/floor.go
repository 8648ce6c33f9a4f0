package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"bailiff/bench"
	"bailiff/bench/player"
	"bailiff/runtime/attest"
	"bailiff/runtime/intent"
)

// The floors.
const (
	floorDecode = "decode" // decodes the intent, answers as long as a test-run does
	floorKeep   = "keep"   // decodes the intent, has bare Pebble keep a part of it, answers as long as a test-run does
	floorSign   = "sign"   // decodes the intent, signs with both algorithms, answers with the token
	floorEcho   = "echo"   // answers with the request's body
)

// expectEcho is what the floor that does nothing answers.
var expectEcho = player.Expectation{Status: "200", Body: func(body []byte) error {
	if !bytes.Equal(body, []byte(bench.AllowedIntent)) {
		return errors.New("the echo is another")
	}
	return nil
}}

// simulated is an answer like a test-run's, of the same length.
const simulated = `{"status":"ALLOWED","intent_attestation":null,"policyHash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","message":"no rule stands against this intent","test_run":true,"observe_mode_active":false}
`

// serveFloor is the process of a floor: it says on out where it listens, and serves until in ends or it is asked
// to stop.
func serveFloor(kind string, in io.Reader, out io.Writer) error {
	handler, err := floorHandler(kind)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := newFloorServer(handler)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signals
		server.CloseOnShutdown = true
		_ = server.Shutdown()
	}()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		signals <- syscall.SIGTERM
	}()
	fmt.Fprintln(out, listener.Addr())
	return server.Serve(listener)
}

// newFloorServer has the settings that the service gives its own (httpd).
func newFloorServer(handler fasthttp.RequestHandler) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:               handler,
		Name:                  "floor",
		ReadBufferSize:        32 << 10,
		WriteBufferSize:       16 << 10,
		ReadTimeout:           15 * time.Second,
		WriteTimeout:          15 * time.Second,
		IdleTimeout:           2 * time.Minute,
		NoDefaultContentType:  true,
		NoDefaultServerHeader: true,
	}
}

func floorHandler(kind string) (fasthttp.RequestHandler, error) {
	switch kind {
	case floorDecode:
		return decodeOnly, nil
	case floorKeep:
		return decodeAndKeep()
	case floorSign:
		return decodeAndSign()
	case floorEcho:
		return echo, nil
	}
	return nil, fmt.Errorf("there is no floor %q", kind)
}

var decoders = sync.Pool{New: func() any { return intent.NewDecoder(intent.Options{}) }}

// decode reads the body as the service does. A body that can't be read fails the request, and with it the run.
func decode(ctx *fasthttp.RequestCtx) bool {
	decoder := decoders.Get().(*intent.Decoder)
	defer decoders.Put(decoder)
	if _, err := decoder.Decode(ctx.PostBody()); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return false
	}
	ctx.SetContentType("application/json")
	return true
}

func decodeOnly(ctx *fasthttp.RequestCtx) {
	if decode(ctx) {
		ctx.Response.SetBodyRaw(simulatedBytes)
	}
}

var simulatedBytes = []byte(simulated)

func echo(ctx *fasthttp.RequestCtx) {
	ctx.SetContentType("application/json")
	ctx.Response.SetBody(ctx.PostBody())
}

// decodeAndSign returns the handler of the second floor. Its claims are those of the benchmark's intent; only the
// token's id changes.
func decodeAndSign() (fasthttp.RequestHandler, error) {
	dir, err := os.MkdirTemp("", "bailiff-floor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	signer, err := attest.LoadOrCreate(dir, rand.Reader)
	if err != nil {
		return nil, err
	}
	var serial atomic.Uint64
	bodies := sync.Pool{New: func() any { return new([]byte) }}
	return func(ctx *fasthttp.RequestCtx) {
		if !decode(ctx) {
			return
		}
		claims := bench.Claims()
		binary.BigEndian.PutUint64(claims.ID[:], serial.Add(1))
		body := bodies.Get().(*[]byte)
		defer bodies.Put(body)
		signed, err := signer.Issue(append((*body)[:0], signedHead...), claims)
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		*body = append(signed, signedTail...)
		ctx.Response.SetBody(*body)
	}, nil
}

// signedHead and signedTail are around the token as they do in the service's answer.
const (
	signedHead = `{"status":"ALLOWED","intent_attestation":"`
	signedTail = `","policyHash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","message":"no rule stands against this intent"}` + "\n"
)
