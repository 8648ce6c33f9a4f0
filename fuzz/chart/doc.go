// Package chart holds the Helm chart to what Helm and Kubernetes make of it. It is a module of its own, so that the product depends
// on neither; it has tests alone.
package chart
