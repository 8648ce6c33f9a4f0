// Package attacks is a corpus of attacks on the service: requests, policies, tokens, commands and bytes that were chosen to be
// judged wrongly. Each case has an answer that was predicted from the documents, and its reason.
//
// A file of testdata is a class of attacks. Each group in it has a policy, the form of a request with § in place of the value
// that is attacked, and cases by encoding: values that are written out, or one value and the names of the encodings that
// spell it (encodings_test.go). Every case runs over HTTP against a service on 127.0.0.1 and, where the library has a part of its
// own (decoding and judging, or the verifier, compiler or filter that it is about), in the library; both must give the expected
// answer. The oracle judges the requests too. docs/attacks.md is made from the same files, and says how many cases of a class run where.
// A new attack is a new case in one of them.
package attacks
