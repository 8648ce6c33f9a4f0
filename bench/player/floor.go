package player

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// StartFloor runs bench/http, a built program, as one of its floors, with a folder for its files. It says on its output where it
// listens.
func StartFloor(program, kind string, processors int, folder string) (*Process, error) {
	p := &Process{Name: "floor " + kind, Command: exec.Command(program, "-floor", kind)}
	p.Command.Env = Environment(processors, "TMPDIR="+folder)
	output, err := p.Command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not say where it listens: %w", p.Name, err), p.Stop())
	}
	p.Address = strings.TrimSpace(line)
	return p, nil
}
