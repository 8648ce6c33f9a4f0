package conform

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
)

// A Block is some units in a row, each with fresh keys, so that a second run of the same seed is answered alike.
type Block struct {
	Number int64 `json:"block"`
	Cases  int   `json:"cases"`
	// Digest is the SHA-256 of all requests and of status, codes and rules of their answers. Keys, ids, times and signatures are not
	// in it. It is empty where an answer of the block diverges.
	Digest string `json:"digest"`
}

// unitsOfBlock is how many units a block has, and maxBorders how often a unit is begun that the border of an hour interrupts.
const unitsOfBlock, maxBorders = 20, 3

// workBlocks runs blocks: those that the configuration names, or the next ones until there are enough cases.
func (k *Kit) workBlocks(ctx context.Context, turns []Level, next *atomic.Int64) error {
	for ctx.Err() == nil {
		number := next.Add(1) - 1
		switch {
		case k.config.Only == nil && !k.wants(), k.config.Only != nil && number >= int64(len(k.config.Only)):
			return nil
		case k.config.Only != nil:
			number = k.config.Only[number]
		}
		b, err := k.block(ctx, turns, number)
		if ctx.Err() != nil {
			return nil // the time is up, and the block is not whole
		}
		if err != nil {
			return err
		}
		k.mutex.Lock()
		k.report.Blocks = append(k.report.Blocks, b)
		slices.SortFunc(k.report.Blocks, func(a, b Block) int { return cmp.Compare(a.Number, b.Number) })
		k.mutex.Unlock()
	}
	return nil
}

// block runs one block.
func (k *Kit) block(ctx context.Context, turns []Level, number int64) (Block, error) {
	b, digest := Block{Number: number}, sha256.New()
	for unit := number * unitsOfBlock; unit < (number+1)*unitsOfBlock; unit++ {
		level, seed := turns[unit%int64(len(turns))], k.config.Seed+unit
		fmt.Fprintf(digest, "%s %d\n", level, seed)
		cases, found, answers, err := k.freshUnit(ctx, level, seed)
		if err != nil {
			return b, err
		}
		b.Cases += cases
		k.count(level, cases)
		if found != nil {
			k.diverge(ctx, level, seed, found)
			return b, nil
		}
		digest.Write(answers)
	}
	b.Digest = hex.EncodeToString(digest.Sum(nil))
	return b, nil
}

// freshUnit runs a unit with keys that nothing else has used, and returns the digest of its answers.
func (k *Kit) freshUnit(ctx context.Context, level Level, seed int64) (cases int, found *finding, digest []byte, err error) {
	for range maxBorders {
		k.mutex.Lock()
		s, err := k.newSession(ctx)
		k.mutex.Unlock()
		if errors.Is(err, ErrNoKeys) {
			return 0, nil, nil, errors.New("blocks take two fresh API keys for each policy, and there are no more; use --admin")
		}
		if err != nil {
			return 0, nil, nil, err
		}
		s.answers = sha256.New()
		cases, found, err = k.unit(ctx, s, level, seed)
		var reason notRun
		if errors.As(err, &reason) && reason == hourBorder {
			continue
		}
		if errors.As(err, &reason) {
			k.skip(level, string(reason), 1)
			err = nil
		}
		return cases, found, s.answers.Sum(nil), err
	}
	return 0, nil, nil, fmt.Errorf("a unit was interrupted by the border of an hour %d times", maxBorders)
}

// heard adds an answer to the digest of the unit. The body of the request is part of it where it follows from the seed.
func (s *session) heard(what string, body []byte, r *reply) {
	if s.answers == nil {
		return
	}
	m := parse(r.body)
	fmt.Fprintf(s.answers, "%s\n%q\n%d %q %q %q %q\n", what, body, r.status, m.text("status"), m.text("error_code"), m.text("matched_rule"), m.text("policyRule"))
}
