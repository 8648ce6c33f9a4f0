package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa65"

	"bailiff/bench"
	"bailiff/bench/decider"
	"bailiff/bench/figures"
	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
)

// claimsSize is about the size of an attestation's claims.
const claimsSize = 800

// perTurn is how often each body runs in a turn.
const perTurn = 64

// A body is measured perTurn times a turn; the message differs each time.
type body struct {
	name string
	step func(message []byte) error
	took []float64 // microseconds, by round
}

// groupSizes are those of the groups that are measured. perTurn is a multiple of each.
var groupSizes = []int{1, 2, 4, 8, 16, 64}

// The bodies that ratios are about, by their place.
const (
	signCircl = iota
	signGmsm
	signChecked
	verifyCircl
	issue
	allowed
	single
	groups // and those after it, one for each of groupSizes
)

// newBodies makes them; policy is the file of the policy by which the service decides, folder is for keys.
func newBodies(policy, folder string) (list []*body, done io.Closer, err error) {
	seed := make([]byte, mldsa65.SeedSize)
	_, _ = rand.Read(seed) // never fails
	first, err := circl{}.newKey(seed)
	if err != nil {
		return nil, nil, err
	}
	second, err := gmsm{}.newKey(seed)
	if err != nil {
		return nil, nil, err
	}
	issuing, err := attest.LoadOrCreate(filepath.Join(folder, "issuing"), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	deciding, apiKey, ledger, err := decider.New(policy, filepath.Join(folder, "deciding"))
	if err != nil {
		return nil, nil, err
	}
	claims, token, intent, answer := bench.Claims(), []byte(nil), []byte(bench.AllowedIntent), new(decision.Answer)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	g := &groupSigner{private, first}
	list = []*body{
		signCircl:   {name: "sign by circl", step: signing(first)},
		signGmsm:    {name: "sign by gmsm", step: signing(second)},
		signChecked: {name: "sign by gmsm, verify by circl", step: signing(checked{second, first})},
		verifyCircl: {name: "verify by circl", step: verifying(first)},
		issue: {name: "issue an attestation", step: func([]byte) (err error) {
			token, err = issuing.Issue(token[:0], claims)
			return err
		}},
		allowed: {name: "decide an ALLOWED, without HTTP and disk", step: func([]byte) error {
			if fault := deciding.Decide(context.Background(), apiKey, intent, decision.Call{}, answer); fault != nil {
				return fault
			}
			if answer.Status != "ALLOWED" {
				return fmt.Errorf("the answer is %s", answer.Status)
			}
			return nil
		}},
		single: {name: "a token by itself", step: func(message []byte) error {
			_, err := g.single(message)
			return err
		}},
	}
	for _, n := range groupSizes {
		list = append(list, &body{name: fmt.Sprint(n), step: grouping(g, n)})
	}
	return list, ledger, nil
}

// signing signs deterministically, so that all signers make as many attempts. The service also draws 32 random bytes.
func signing(s signer) func([]byte) error {
	signature := make([]byte, mldsa65.SignatureSize)
	return func(message []byte) error { return s.sign(signature, message, timingContext, false) }
}

// verifying verifies a signature of another message, which takes as long and fails.
func verifying(k key) func([]byte) error {
	signature, other := make([]byte, mldsa65.SignatureSize), make([]byte, claimsSize)
	other[claimsSize-1] = 1 // which the messages of measure never have
	err := k.sign(signature, other, timingContext, false)
	return func(message []byte) error {
		if err == nil && k.verify(message, timingContext, signature) {
			return fmt.Errorf("a signature of another message verifies")
		}
		return err
	}
}

// grouping gathers n messages before it makes their tokens.
func grouping(g *groupSigner, n int) func([]byte) error {
	var gathered [][]byte
	return func(message []byte) error {
		gathered = append(gathered, append([]byte(nil), message...))
		if len(gathered) < n {
			return nil
		}
		_, err := g.group(gathered)
		gathered = gathered[:0]
		return err
	}
}

// measure gives each body its turn in each round, so that a machine that is slower for a while is slower for all.
func measure(now clock, list []*body, rounds int) error {
	message := make([]byte, claimsSize)
	for round := range rounds {
		for _, b := range list {
			start := now()
			for i := range perTurn {
				binary.LittleEndian.PutUint64(message, uint64(round*perTurn+i))
				if err := b.step(message); err != nil {
					return fmt.Errorf("%s: %w", b.name, err)
				}
			}
			b.took = append(b.took, float64(now()-start)/float64(time.Microsecond)/perTurn)
		}
	}
	return nil
}

// ratio returns how many times as long a takes as b, by round.
func ratio(a, b *body) string {
	places := make([]int, len(a.took))
	for i := range places {
		places[i] = i
	}
	return figures.Of(places, func(i int) float64 { return a.took[i] / b.took[i] }).String()
}

func reportMeasured(w io.Writer, list []*body) {
	micros := func(at int) float64 { return figures.Median(list[at].took) }
	fmt.Fprintf(w, "## What signing costs\n\nProcessor time, medians of %d rounds of %d; ratios are medians of the rounds' ratios, with quartiles.\n\n"+
		"| | µs | of circl's signing |\n|---|---|---|\n", len(list[0].took), perTurn)
	for at := signCircl; at <= verifyCircl; at++ {
		fmt.Fprintf(w, "| %s | %.0f | %s |\n", list[at].name, micros(at), ratio(list[at], list[signCircl]))
	}
	saved := micros(signCircl) - micros(signChecked)
	fmt.Fprintf(w, "\nThe service makes one such signature for each of these, by circl. With gmsm, verified by circl, %.0f µs less, which is computed:\n\n"+
		"| | µs | with gmsm | times as fast |\n|---|---|---|---|\n", saved)
	for _, at := range []int{issue, allowed} {
		fmt.Fprintf(w, "| %s | %.0f | %.0f | %.2f |\n", list[at].name, micros(at), micros(at)-saved, micros(at)/(micros(at)-saved))
	}
	fmt.Fprintf(w, "\n## One signature for a group, by circl\n\n| tokens in a group | µs a token | of a token by itself | bytes of the path |\n|---|---|---|---|\n"+
		"| by itself | %.0f | 1 | – |\n", micros(single))
	for i, n := range groupSizes {
		fmt.Fprintf(w, "| %d | %.0f | %s | %d |\n", n, micros(groups+i), ratio(list[groups+i], list[single]), pathSize(n))
	}
}
