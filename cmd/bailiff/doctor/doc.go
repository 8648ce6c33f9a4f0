// Package doctor finds what is wrong with how a service is set up: its settings, its files, the machine and its event log.
package doctor
