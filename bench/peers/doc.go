// Command peers measures Bailiff beside a function by hand and beside the policy engines that a Go program would embed
// instead: expr, cedar-go, cel-go, Casbin and OPA. All of them judge the same ten rules over the same decoded intent.
//
//	go run . -rounds 5 -for 100ms -write ../RESULTS.md
//
// It is a module of its own, so that the product does not depend on what it is measured against. README.md says what
// is measured and what is not.
package main
