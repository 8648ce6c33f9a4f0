package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
)

// leastEach is how many of a thousand questions have to be allowed, and how many denied.
const leastEach = 100

// agree asks all servers n generated questions. It fails where one of them does not give the answer that the rules, written
// down once more in Go, give.
func agree(ctx context.Context, servers []*server, n int, seed uint64) (allowed int, err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range n {
		q := generate(random)
		want := q.allowed()
		if want {
			allowed++
		}
		for _, s := range servers {
			got, err := s.answer(ctx, q)
			if err != nil {
				return 0, fmt.Errorf("%s, question %d: %w: %s", s.name, i, err, encode(q))
			}
			if got != want {
				return 0, fmt.Errorf("%s says %v and not %v to question %d: %s", s.name, got, want, i, encode(q))
			}
		}
	}
	if least := leastEach * n / 1000; allowed < least || n-allowed < least {
		return 0, errors.New("the questions are nearly all allowed or nearly all denied")
	}
	return allowed, nil
}

func (s *server) answer(ctx context.Context, q *question) (bool, error) {
	path, key, body := s.request(q)
	status, answer, err := s.Post(ctx, path, key, body)
	if err != nil {
		return false, err
	}
	return s.read(status, answer)
}
