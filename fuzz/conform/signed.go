package conform

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"bailiff/runtime/attest"
)

// SignedForm names the form of a signed report. It changes with the meaning of a member or of a digest.
const SignedForm = "bailiff-conform-report-1"

// A Signed report says which build of the kit ran what, and how it was answered, so that somebody else can run a part of it again.
type Signed struct {
	Form   string    `json:"form"`
	Kit    string    `json:"kit"` // the build: digests are those of the requests that it generates
	At     time.Time `json:"at"`
	Report *Report   `json:"report"`
}

// Sign signs a report.
func Sign(private ed25519.PrivateKey, kit string, at time.Time, r *Report) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(&Signed{Form: SignedForm, Kit: kit, At: at.UTC().Truncate(time.Second), Report: r}); err != nil {
		return nil, err
	}
	return attest.SignReport(private, b.String())
}

// OpenSigned reads a signed report: it checks the signature, and that the parts add up.
func OpenSigned(public ed25519.PublicKey, text []byte) (*Signed, error) {
	opened, err := attest.OpenReport(public, text)
	if err != nil {
		return nil, err
	}
	s := new(Signed)
	decoder := json.NewDecoder(bytes.NewReader([]byte(opened)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("the report is no JSON of this form: %w", err)
	}
	if s.Form != SignedForm || s.Report == nil {
		return nil, fmt.Errorf("the report has the form %q, and this command reads %q", s.Form, SignedForm)
	}
	return s, s.Report.addsUp()
}

// addsUp holds that the parts of a report with blocks are those of one run.
func (r *Report) addsUp() error {
	levels, blocks, diverged := 0, 0, 0
	for i := range r.Levels {
		levels += r.Levels[i].Cases
	}
	for i, b := range r.Blocks {
		if b.Number != int64(i) {
			return fmt.Errorf("the report has no block %d: blocks that were left out are not tested", i)
		}
		if b.Digest == "" {
			diverged++
		}
		blocks += b.Cases
	}
	switch {
	case len(r.Blocks) == 0:
		return fmt.Errorf("the report has no blocks")
	case levels != r.Cases || blocks > r.Cases || r.Cases-blocks > mostOnce:
		return fmt.Errorf("the report says %d cases, its levels %d and its blocks %d", r.Cases, levels, blocks)
	case diverged > 0 && len(r.Divergences) == 0:
		return fmt.Errorf("the report has no divergence, and blocks that diverge")
	}
	return nil
}

// mostOnce is more than the cases that a run has once, which are in no block.
const mostOnce = 200

// A Rerun is what came of running a part of a report again.
type Rerun struct {
	Blocks, Cases int
	Differences   []string
	Stopped       string // why no further blocks were run; empty where the time was over, or all were run
}

// RunAgain runs blocks of a report again that are drawn, until a time is over; at least one. The configuration has the service and the keys.
func RunAgain(ctx context.Context, config Config, r *Report, length time.Duration, random *rand.Rand) (*Rerun, error) {
	config.Seed, config.Levels, config.Blocks, config.NoShrink = r.Seed, nil, true, true
	for i := range r.Levels {
		config.Levels = append(config.Levels, r.Levels[i].Level)
	}
	again, order := new(Rerun), random.Perm(len(r.Blocks))
	for began := time.Now(); len(order) > 0 && (again.Blocks == 0 || time.Since(began) < length); {
		n := min(len(order), max(config.Workers, 1))
		config.Only = nil
		for _, i := range order[:n] {
			config.Only = append(config.Only, int64(i))
		}
		order = order[n:]
		part, err := Run(ctx, config)
		if err != nil {
			return nil, err
		}
		again.compare(r, part)
		if again.Stopped = part.Stopped; part.Stopped != "" {
			break
		}
	}
	return again, nil
}

// compare adds where a second run differs.
func (a *Rerun) compare(r, part *Report) {
	for i := range part.Divergences {
		if d := &part.Divergences[i]; len(r.Divergences) == 0 {
			a.Differences = append(a.Differences, fmt.Sprintf("the service diverges, and the report says that it does not: %s: expected %s, got %s", d.What, d.Expected, d.Got))
		}
	}
	for _, b := range part.Blocks {
		a.Blocks, a.Cases = a.Blocks+1, a.Cases+b.Cases
		if said := r.Blocks[b.Number]; said != b {
			a.Differences = append(a.Differences, fmt.Sprintf("block %d has %d cases and the digest %q, and in the report %d and %q", b.Number, b.Cases, b.Digest, said.Cases, said.Digest))
		}
	}
}
