package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"testing"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	rounds := flags.Int("rounds", 5, "how often everybody has a turn; medians are printed")
	length := flags.Duration("for", 100*time.Millisecond, "how long a turn takes")
	write := flags.String("write", "", "the Markdown file whose tables are replaced, between its marks")
	cpu := flags.String("cpuprofile", "", "the file that a CPU profile of the measurements is written to")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *rounds < 1 || *length <= 0 {
		return fmt.Errorf("there must be at least one round, and it must take time")
	}
	testing.Init()
	if err := flag.Set("test.benchtime", length.String()); err != nil {
		return err
	}
	if *cpu == "" {
		return contend(*rounds, *write)
	}
	file, err := os.Create(*cpu)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	err = contend(*rounds, *write)
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}

// contend measures, prints, and writes where it is asked to.
func contend(rounds int, path string) error {
	rows, err := measureEngines(rounds)
	if err != nil {
		return err
	}
	figures, err := measureKinds(rounds)
	if err != nil {
		return err
	}
	text := tables(rows, figures)
	fmt.Print(text)
	if path == "" {
		return nil
	}
	return insert(path, "\n"+text+"\n")
}
