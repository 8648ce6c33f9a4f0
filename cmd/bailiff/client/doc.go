// Package client has the commands that talk to a service: by its API with an API key, or by its admin socket as the operator.
package client
