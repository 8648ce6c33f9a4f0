// Package fspath brings file paths into one canonical form, and matches blocked ones.
//
// A clean path is a string of segments divided by "/", in one of four shapes:
//
//	/etc/passwd       absolute; "/" is the root
//	/c:/windows       absolute, with a drive as its first segment
//	~/.ssh            below the home directory of the user who runs the tool
//	src/main.go       relative; "." is the directory itself, and "../x" lies outside it
//
// It comes from the raw path in these steps, the same for an entry of a list and for a request:
//
//   - Nothing is percent-decoded. "\" counts as "/".
//   - Case is folded, as case-insensitive file systems do: canonical decomposition, full case folding of Unicode,
//     canonical composition; zero-width and direction marks, which HFS+ ignores, are dropped.
//   - Empty segments and "." go, ".." takes the segment before it along, and "/.." is "/".
//   - A first segment of one letter and ":" is a drive, after a "/" as well.
//   - Any other segment loses a stream name (from ":" on) and the dots and spaces at its end, as on NTFS: ".ENV::x",
//     ".env. " and ".env" are the same file there. On other systems that blocks too much, never too little.
//
// A path that cannot be resolved to a single file is suspicious, and denied wherever paths are blocked: an
// empty path, a relative one that leaves its directory, ".." above a home directory or a drive, ~user, any "$", two "%"
// in one segment (%VAR%), a first segment of one letter, ":" and more (c:x) or one that ends in ":" otherwise (file:),
// a path that begins with "//?", "//./" or "/??/", a short name of Windows (PROGRA~1), a segment of which the last step
// leaves nothing, and control characters or invalid UTF-8. [Explain] says which of them it was.
//
// A pattern is a clean path in which "*" means any characters of a segment, and by itself one whole segment; or it is "**/"
// and segments that may be anywhere. It covers what it matches and all below it, so it ends at a segment's boundary: /etc
// covers /etc/passwd, not /etcetera.
package fspath
