// Package bash compares what a list of blocked commands lets pass with what a real bash runs.
//
// Generated commands try to run a blocked program in every way that bash knows: through quoting, comments, substitutions,
// evaluation of text, arithmetic, here-documents, aliases, traps and other programs. The product judges each one under a
// policy that blocks the program. What it accepts runs in a bash of its own, where the blocked programs are stubs that
// leave a file, the witness. A witness after an accepted command is a fault of the product.
//
// Lists of allowed commands are tested in the same way: a command that is accepted by a list without the stubs starts none of
// them.
//
// # Sandbox
//
// Each command runs as an unprivileged user, with an empty environment, PATH reduced to one folder, limits on time,
// processes, files and their size. Where the system permits it, the sandbox is also a set of namespaces of its own: no
// network, its own processes, and all of the file system read-only except for one temporary folder. Elsewhere the
// unprivileged user is the only barrier; the commands that are generated never name a path outside of the sandbox.
package bash
