// Package vm is the machine that judges intents. A policy is compiled once to a [Program]; for each intent a
// [Machine] runs it over a frame of values and returns the verdict of the policy. The machine knows no text of
// policies, no HTTP, no disk and no clock. The same program over the same frame gives the same result,
// whatever else happens, in bounded time and without allocating.
//
// # Frames
//
// A frame holds one [Value] for each field that the program names ("action", "metadata.env", "@host"; the names
// mean nothing to the machine). A value is missing, null, invalid (present, and unreadable), a string, a
// number, a boolean, a list or an object. Strings, numbers and booleans have a text; tests look at nothing
// else. [Program.Needs] says which slots a run can read, so that only values that some rule reads are derived.
//
// # Instructions
//
// An [Instruction] has 8 bytes: an operation, modifiers A, slot B, constant C and target D. What each
// operation does with them is its row in one table (op.go), from which assembler, disassembler, verifier, bound on
// the cost and reference follow. A program has at most 65,535 instructions; control starts at the first, and
// jumps go forward only, so every run ends.
//
// Control: `jump` continues at D; `switch` continues by a slot's text, at its exact case, else at the longest
// case that the text starts with, else at D. `class` records the kind of the intent. `deny` records a
// violation that blames a slot, `hold` that a person has to decide, `note` something to mention, `reserve` a counter to advance.
// `reject` says that the request is not valid under this policy. `end` ends the run.
//
// Tests jump if they hold, or with `unless` if they do not. Those of texts take a list, too: it satisfies them
// if any element does, or with `all` if it has elements and all of them do. An element that is a list holds the
// readings of one thing, and satisfies a test if one of them does. `kind` looks at the kind of a
// slot; `in`, `starts`, `ends` and `contains` match a text against a set; `host` and `path` do so at dots and at
// slashes; `glob` matches it against patterns with stars; `match` runs an RE2 expression; `scan` looks for many texts at
// once, and `hit` asks for one of them; `amount` reads a text into one of two registers, and `gt` and `ge` compare it.
//
// # Indeterminate tests
//
// A missing or null value satisfies no test, nor does an object; an empty list satisfies neither `any` nor
// `all`. A test is indeterminate for an invalid value, for a list with an invalid element, wherever it is, for a text of
// more than 4 KiB before `match`, and for a register that is not set. Then it always continues at the next
// instruction, with `if` and with `unless`. So an emitter puts the denial there:
//
//	in unless any "metadata.env" const0 @7   ; deny_if: jump over the denial if it is none of them
//	deny element "metadata.env" rule0 @7     ; here also if it is invalid
//	in if all "metadata.env" const1 @9       ; allow_only: jump over the denial if it is one of them
//	deny element "metadata.env" rule1 @9     ; here also if it is invalid
//
// `amount` does the same: after a text that is not an amount, the run continues at the next instruction. `kind` is never
// indeterminate, and `switch` then continues at its default.
//
// # Constants
//
// Sets of texts match exactly, byte for byte. Only where an entry says so, the address literals in it (`0x` and
// exactly 40 hex digits) match without regard to the case of ASCII letters. Hosts are names in lower case:
// `example.com` covers itself and every name below it, `.example.com` only what is below. Path patterns cover a
// cleaned path, segment by segment from its start, and all that is below: `/etc`, `~/x`, and with
// `*` for any one segment `/home/*/x`; after `**/` they may start at any segment. `/` covers every absolute
// path. Globs cover whole texts, byte for byte, and `*` means any run, even an empty one, without `@` (style
// mailbox) or without `.` (style dotted; at the end of a pattern any run at all). Amounts are 256-bit integers in base
// units, with their number of decimals. Hash tables, automata and regular expressions (package match) are built when a
// program is loaded, and are not part of its bytes.
//
// So are routes, which are built at loading, too. A route is the program specialised for an action: tests of the action have
// known outcomes there, and are left out. A run takes the route of the text in slot actionField; its result is that of the whole
// program.
//
// # Tokens
//
// A program carries what its policy says of tokens: symbol, decimals and pinned contracts. The machine does not read it.
// The code that fills frames does, so that a symbol and a pinned address, and an amount in either unit, have one form.
//
// # Verdicts
//
// In mode [First] a run ends at the first violation: that is the verdict. In mode [All] `deny` goes on at D, and
// the run collects every rule that was violated; the first of them is the same. A [Violation] names the rule
// and the slot that the denial blames; a denial may blame an element: the one that decided the last test of a list, if that was
// a test of this slot, and of several that each lead to the denial, the first. A
// result is rejected, denied if a rule was violated, pending if a hold was recorded, or allowed. Reservations are a plan, in
// order; a denied or rejected result has none (Reached has, for explanations, all that the run came to). A count advances by
// one, a sum by the amount in its counter's slot, and a maximum rises to that amount if it was lower. A missing amount is zero;
// with one that cannot be read the counter's rule is violated. Totals are kept apart by the text of the counter's group, and
// within a group by that of its subgroup: if one of them has no text, the counter's rule is violated, too. A `reject` after a
// violation changes nothing, since what applies first names the verdict.
//
// # Verification
//
// A program that exists has been verified: [Builder.Program], [Decode] and [Assemble] are the only ways to one. All
// operations are known, operands in range, unused ones zero; jumps go forward; every way ends in a verdict,
// and every instruction is on a way; `hit` follows a scan of one set on every way, `gt` and `ge` compare
// amounts of the same decimals; texts are valid UTF-8 and bounded, patterns compile and are bounded; the tables
// hold what the code uses, in the order of its first use, and nothing twice. So Run has no errors.
//
// [Program.Cost] bounds a run by a + b·bytes, over the longest way and the slot that is read most; a program
// beyond the limits, in time or in memory, is refused. The limits are constants of this package.
//
// # Bytes
//
// The canonical bytes are the magic "blfp", the version of the machine, the version of the policy format, and
// the tables of fields, rules, constants, switch tables, counters, tokens and instructions. Numbers of rows and
// lengths are varints in their shortest form; all else has a fixed size and is big-endian. [Program.Hash] is
// their SHA-256. A program has one encoding: what [Decode] accepts is what [Program.MarshalBinary] gives back. A debug
// section may follow the canonical bytes. It says which part of the policy each instruction was made from; since it is not
// hashed, reformatting a policy changes no program.
//
// A counter's identity is its name, never an index or a hash: a new deployment continues what was counted.
package vm
