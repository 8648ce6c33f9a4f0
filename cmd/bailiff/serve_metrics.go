package main

import "errors"

// addGauges adds the metrics that are read from the service when they are asked for.
func (r *service) addGauges() error {
	return errors.Join(
		r.metrics.BuildInfo(thisBuild().metric()),
		r.metrics.ClockDoubt(func() bool { return r.guard.Doubt() != nil }),
	)
}
