//go:build !linux

package load

import "time"

func (p *Pace) drive([]*Client, time.Duration) error { return errOpenLoop }
