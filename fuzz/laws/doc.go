// Package laws states the metamorphic properties of policies and requests, whatever they say: a further denial lets nothing
// through; a higher limit denies nothing; spelling and order change nothing; a request that says the same in other spellings
// is decided no more leniently, and is counted, hashed and claimed as the same; a simulation says what the service does;
// formatting changes no program; compiling is a function; and no text and no bytes make anything panic or cost more than
// its bound.
//
// Each law is a function of a [House], which is the system under test, and of a batch of package gen; it returns what
// is wrong, or "". [Table] lists them. The tests run the laws over many batches with gopter, and each one again over a house with
// a planted fault, which it has to find.
package laws
