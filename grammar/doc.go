// Package grammar reads a policy file, warranty.md, into a syntax tree. It knows the shape of the text and the
// names of the sections; what a key means, and which keys there are, is the compiler's matter.
//
// # The text
//
// A policy is UTF-8 of at most 256 KiB. Its first significant line is `version: X.Y.Z`; then come sections,
// each a heading `## name` with entries below it; a signature block may come last. A line is blank, a
// heading, a comment (`#`, or `<!-- … -->` over several lines), an entry, or a line of a block. Anything
// else is an error. White space is space and tab; lines end in LF or CR LF.
//
//	version: 2.1.0
//
//	## evm
//	# Swaps only.
//	allowed_actions: wallet.transfer, contract.call
//	chain_actions:
//	  "8453": wallet.transfer
//
//	## custom
//	allow_only[action=email.*].metadata.team starts_with: ops-, dev-
//	deny_if.metadata.env equals production
//
// # Entries
//
// An entry is a key, a colon and a value, and starts at column 1. A key is names with dots between, perhaps a
// scope `[action=pattern]` with more names after it, and perhaps words, each after a space. The colon follows
// at once. In `deny_if.path operator value` it may be left out. A colon directly after the path or, if there is
// none there, directly after the operator ends the key; any later one belongs to the value; and a value
// that begins with a colon has to be quoted. So these are the same entry, and there is no second reading:
//
//	deny_if.metadata.env equals a:b
//	deny_if.metadata.env equals: a:b
//	deny_if.metadata.env: equals a:b
//
// # Values
//
// A value is read as a scalar or as a list, as its key's type demands. Both readings are in the tree. A list
// splits on commas. An item that begins with a quote, single or double, ends at the next such quote; what
// is between is taken as it is, commas and all, without escapes; after it comes a comma or the end of
// the line. A quote anywhere else in an item is an ordinary character, as in it's. The scalar is the value as
// written, commas included, or the text between the quotes if the whole value is one quoted item. Outside
// quotes, a `#` may neither begin an item nor follow white space, and `<!--` may not occur.
//
// One key differs: the value of `response.deny_string`, where it begins with a double quote, is a JSON string, which
// ends its line. Its escapes are kept as they are written.
//
// # Signature
//
// What is signed, and hashed into the policy hash, is exactly the bytes before the line `## signature`. See
// Split.
//
// # Layout
//
// Format writes a policy in one canonical layout, with every comment in its place and the meaning untouched.
//
// # Promises
//
// Parse never panics, takes time and memory linear in the text, and finds every error in one pass. Bytes that
// two programs might read differently are refused. If there is no error, the tree and its source have all
// that was written, so that the text can be written out again.
package grammar
