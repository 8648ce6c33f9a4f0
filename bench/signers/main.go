package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// examplePolicy is the policy that the product's first run signs.
const examplePolicy = "../../cmd/bailiff/policy/example/warranty.md"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "signers:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	flags := flag.NewFlagSet("signers", flag.ContinueOnError)
	rounds := flags.Int("rounds", 300, "how often each signer has a turn")
	samples := flags.Int("samples", 20_000, "how many signatures of each signer are timed")
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "what keys and messages of the test of timing are drawn from")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *rounds < 1 || *samples < 1 {
		return errors.New("there must be at least one round and one sample")
	}
	if err := compareCosts(*rounds); err != nil {
		return err
	}
	fmt.Printf("\nThe test of timing has -seed %d.\n", *seed)
	q, err := newQuestions(*seed)
	if err != nil {
		return err
	}
	measured, err := measureTimes(threadTime, q, subjects(), *samples)
	if err != nil {
		return err
	}
	reportTimes(os.Stdout, subjects(), measured)
	return nil
}

func compareCosts(rounds int) (err error) {
	folder, err := os.MkdirTemp("", "signers")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	list, done, err := newBodies(examplePolicy, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done.Close()) }()
	if err := measure(processTime, list, rounds); err != nil {
		return err
	}
	reportMeasured(os.Stdout, list)
	return nil
}
