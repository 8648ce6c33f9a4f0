// Package serve runs the service: it makes its parts of the settings, opens its listeners, reloads, and closes in order.
package serve
