package conform

import (
	"context"
	"errors"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/prop"
)

// maxTrials bounds the work of shrinking. Each trial deploys a policy to fresh keys.
const maxTrials = 400

// shrink makes a finding small: gopter goes from the story of its unit to smaller ones for as long as they differ in the same
// way, each with fresh keys. The note says why that was not done.
func (k *Kit) shrink(ctx context.Context, level Level, seed int64, found *finding) (small *finding, note string) {
	small, trials, problem := found, 0, error(nil)
	again := false
	differs := func(st *story) bool {
		if trials++; trials > maxTrials || problem != nil {
			return false
		}
		s, err := k.newSession(ctx)
		if err != nil {
			problem = err
			return false
		}
		s.trial = true
		_, other, err := s.play(ctx, st)
		var reason notRun
		if err != nil && !errors.As(err, &reason) {
			problem = err
		}
		if other == nil || other.kind() != found.kind() {
			return false
		}
		small, again = other, true
		return true
	}
	parameters := gopter.DefaultTestParametersWithSeed(seed)
	parameters.MinSuccessfulTests, parameters.MaxShrinkCount, parameters.Workers = 1, maxTrials, 1
	whole := func(*gopter.GenParameters) *gopter.GenResult {
		return gopter.NewGenResult(newStory(level, seed), shrinkStory)
	}
	prop.ForAll(func(st *story) bool { return !differs(st) }, whole).Check(parameters)
	switch {
	case again:
		return small, ""
	case errors.Is(problem, ErrNoKeys):
		return found, "not shrunk: there are no fresh API keys; the keys may have been asked before"
	case problem != nil:
		return found, "not shrunk: " + problem.Error()
	}
	return found, "with fresh keys the answers are as expected: what the keys were asked before plays a part, or what runs at once"
}

// shrinkStory returns the smaller stories one after the other.
func shrinkStory(value any) gopter.Shrink {
	smaller, next := value.(*story).smaller(), 0
	return func() (any, bool) {
		if next == len(smaller) {
			return nil, false
		}
		next++
		return smaller[next-1], true
	}
}
