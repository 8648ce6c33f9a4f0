package main

import (
	"encoding/binary"
	"os"
	"runtime"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/valyala/fasthttp"
)

// keptBytes is what a decision leaves behind at least: who asked for what, when, by which policy, and its answer.
const keptBytes = 200

// A journal is the least that makes requests durable: their records, gathered while one sync is under way, are one write
// of bare Pebble. There is no ledger in it: no keys, no counters, no hashes.
type journal struct {
	db   *pebble.DB
	wake chan struct{}

	mu   sync.Mutex
	open *batch
}

// A batch is records that become durable together.
type batch struct {
	records []byte
	durable chan struct{}
}

func newBatch() *batch { return &batch{durable: make(chan struct{})} }

// decodeAndKeep returns the handler of the durable floor. Its folder is the system's for temporary files, as startFloor
// sets it.
func decodeAndKeep() (fasthttp.RequestHandler, error) {
	dir, err := os.MkdirTemp("", "journal-")
	if err != nil {
		return nil, err
	}
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		return nil, err
	}
	j := &journal{db: db, wake: make(chan struct{}, 1), open: newBatch()}
	go j.commit()
	return func(ctx *fasthttp.RequestCtx) {
		if decode(ctx) {
			j.add(ctx.PostBody()[:keptBytes])
			ctx.Response.SetBodyRaw(simulatedBytes)
		}
	}, nil
}

// add returns when a record is durable.
func (j *journal) add(record []byte) {
	j.mu.Lock()
	b := j.open
	b.records = append(b.records, record...)
	j.mu.Unlock()
	select {
	case j.wake <- struct{}{}:
	default:
	}
	<-b.durable
}

// commit writes batches, each once everybody who is ready to has added to it, as the service's committer does.
func (j *journal) commit() {
	var number uint64
	for range j.wake {
		for seen := -1; seen != j.size(); {
			seen = j.size()
			runtime.Gosched()
		}
		b := j.take()
		if len(b.records) == 0 {
			continue
		}
		number++
		if err := j.db.Set(binary.BigEndian.AppendUint64(nil, number), b.records, pebble.Sync); err != nil {
			panic(err) // ends the floor, and with it the run
		}
		close(b.durable)
	}
}

func (j *journal) size() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.open.records)
}

func (j *journal) take() *batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := j.open
	j.open = newBatch()
	return b
}
