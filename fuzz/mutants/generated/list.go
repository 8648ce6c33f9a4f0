package main

import _ "embed"

// reviewedText is the list of mutants that no test can kill, with the reason of each.
//
//go:embed reviewed.txt
var reviewedText string
