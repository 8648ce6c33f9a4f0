// Package settings is the table of environment variables of the service: name, default, help and check. A value is checked once,
// before anything starts.
package settings
