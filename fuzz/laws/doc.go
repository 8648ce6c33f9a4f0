// Package laws states what must hold of every policy and every request, whatever they say: that a further denial lets
// nothing through, that a higher limit denies nothing, that spelling and order change nothing, that a request which says
// the same in other spellings is decided no more leniently and counted, hashed and claimed as the same, that a simulation says
// what the service does, that formatting changes no program, that compiling is a function, and that no text and no
// bytes make anything panic or cost more than its bound.
//
// Each law is a function of a [House], which holds what is under test, and of a batch of package gen; it returns what
// is wrong, or "". The tests run the laws over many batches with gopter, and each one again over a house with a planted
// fault, which it has to find.
package laws
