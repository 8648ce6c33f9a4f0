// Package serve runs the service: it builds the parts of the service from the settings, opens the listeners, reloads, and shuts
// down in order. It decides nothing: package runtime/decision does, and httpd answers over HTTP.
package serve
