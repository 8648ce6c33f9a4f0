package main

import (
	"crypto/sha3"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
)

// The test of timing asks, as dudect does, whether signing with one fixed key takes another time than with keys that are
// drawn anew each time. Keys take turns at random, and messages are always drawn, since they are public.
//
// How often a signature is attempted varies from message to message, takes nearly all of the time, and may be known (FIPS 204,
// section 3.2). Only signatures of as many attempts are therefore compared: those that were accepted at once, which shows the
// path of an accepted attempt, and those of two attempts, which shows a rejected one, too.

// maxCompared is how many attempts compared signatures took at most.
const maxCompared = 2

const timedMessageSize = 256

var timingContext = []byte("bailiff-timing")

// A question is one message to sign with one key, given with the number of attempts.
type question struct {
	fixed    bool
	private  []byte
	message  []byte
	attempts int
}

// questions draws them; what circl signs says how many attempts there are.
type questions struct {
	random *rand.ChaCha8
	fixed  key
}

// newQuestions draws a fixed key whose secret bit is set, so that half of the others differ from it there.
func newQuestions(seed uint64) (*questions, error) {
	var full [32]byte
	binary.LittleEndian.PutUint64(full[:], seed)
	q := &questions{random: rand.NewChaCha8(full)}
	for {
		var err error
		if q.fixed, err = q.key(); err != nil || secretBit(q.fixed.private) {
			return q, err
		}
	}
}

func (q *questions) bytes(n int) []byte {
	b := make([]byte, n)
	_, _ = q.random.Read(b) // it has no end
	return b
}

func (q *questions) key() (key, error) { return circl{}.newKey(q.bytes(mldsa65.SeedSize)) }

// next draws a key and loads one also where the question has the fixed one, so that what comes before a timed signature is
// the same for both.
func (q *questions) next() (question, error) {
	drawn, err := q.key()
	if err != nil {
		return question{}, err
	}
	one := question{fixed: q.random.Uint64()&1 == 1, private: drawn.private}
	if one.fixed {
		one.private = slices.Clone(q.fixed.private)
	}
	reference, err := circl{}.load(one.private)
	if err != nil {
		return question{}, err
	}
	signature := make([]byte, mldsa65.SignatureSize)
	for {
		one.message = q.bytes(timedMessageSize)
		if err := reference.sign(signature, one.message, timingContext, false); err != nil {
			return question{}, err
		}
		one.attempts, err = attempts(one.private, one.message, timingContext, signature)
		if err != nil || one.attempts <= maxCompared {
			return one, err
		}
	}
}

// A subject is a signer whose times are compared.
type subject struct {
	name string
	load func(private []byte) (signer, error)
}

func subjects() []subject {
	return []subject{
		{circl{}.String(), circl{}.load},
		{gmsm{}.String(), gmsm{}.load},
		{"canary: circl, and two hashes more if a bit of the key is set", leaky(circl{}.load, twoHashes)},
	}
}

// leaky returns signers that work longer where a bit of the key is set.
func leaky(load func([]byte) (signer, error), work func()) func([]byte) (signer, error) {
	return func(private []byte) (signer, error) {
		inner, err := load(private)
		return leakySigner{inner, secretBit(private), work}, err
	}
}

type leakySigner struct {
	signer
	bit  bool
	work func()
}

func (s leakySigner) sign(signature, message, context []byte, hedged bool) error {
	if s.bit {
		s.work()
	}
	return s.signer.sign(signature, message, context, hedged)
}

func secretBit(private []byte) bool { return private[secretAt]&1 == 1 }

func twoHashes() {
	sum := sha3.Sum512(nil)
	_ = sha3.Sum512(sum[:])
}

// times are those of one subject, in nanoseconds, by the number of attempts.
type times struct{ fixed, others [maxCompared + 1][]float64 }

func (t *times) add(q question, took time.Duration) {
	list := &t.others[q.attempts]
	if q.fixed {
		list = &t.fixed[q.attempts]
	}
	*list = append(*list, float64(took))
}

// measureTimes has all subjects answer n questions.
func measureTimes(now clock, q *questions, list []subject, n int) ([]times, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it runs between questions
	measured := make([]times, len(list))
	order := rand.New(q.random)
	for i := range n {
		if i%64 == 0 {
			runtime.GC()
		}
		one, err := q.next()
		if err != nil {
			return nil, err
		}
		for _, at := range order.Perm(len(list)) {
			took, err := timeOne(now, list[at], one)
			if err != nil {
				return nil, err
			}
			measured[at].add(one, took)
		}
	}
	return measured, nil
}

// timeOne loads the key anew, so that the caches know a fixed one as little as another, and signs once before it is
// timed, by as many attempts as chance makes it, so that what a library computes at first use is there.
func timeOne(now clock, s subject, q question) (time.Duration, error) {
	loaded, err := s.load(q.private)
	if err != nil {
		return 0, err
	}
	signature := make([]byte, mldsa65.SignatureSize)
	if err := loaded.sign(signature, q.message, timingContext, true); err != nil {
		return 0, err
	}
	start := now()
	err = loaded.sign(signature, q.message, timingContext, false)
	return now() - start, err
}

// reportTimes prints the largest |t| of each subject, and says what it means.
func reportTimes(w io.Writer, list []subject, measured []times) {
	fmt.Fprintln(w, "\n## Timing: one fixed key against drawn ones\n\n"+
		"| signer | attempts | signatures | t | crop | difference | of | would show from |\n|---|---|---|---|---|---|---|---|")
	blind := false
	for i, s := range list {
		for n := 1; n <= maxCompared; n++ {
			fixed, others := measured[i].fixed[n], measured[i].others[n]
			found := compare(fixed, others)
			f, ok := largest(found)
			if !ok {
				fmt.Fprintf(w, "| %s | %d | %d | too few |\n", s.name, n, len(fixed)+len(others))
				continue
			}
			blind = blind || i == len(list)-1 && n == 1 && f.t < suspicious
			fmt.Fprintf(w, "| %s | %d | %d | %.1f | %d %% | %.0f ns | %.1f µs | %.0f ns |\n",
				s.name, n, len(fixed)+len(others), f.t, f.crop, f.difference, f.mean/1e3, sharpest(found))
		}
	}
	fmt.Fprint(w, timingMeaning)
	if blind {
		fmt.Fprint(w, "The canary was not found: this run shows nothing. Take more -samples, or a quieter machine.\n")
	}
}

const timingMeaning = `
t is Welch's, the largest of six crops of the fastest times. Above 4.5 either way signing takes another time with the fixed key, which may also
be due to its public part. Below, no difference as large as in the last column was seen in the crop that shows most: on this
processor, with this fixed key, for these numbers of attempts. It does not prove that there are none, and says nothing about what caches,
speculation or power give away.
`
