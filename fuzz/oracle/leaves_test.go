package oracle

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"bailiff/fuzz/kit/seed"
	"bailiff/fuzz/oracle/shell"
	"bailiff/vm/form/command"
	"bailiff/vm/form/email"
	"bailiff/vm/form/evmaddr"
	"bailiff/vm/form/fspath"
	"bailiff/vm/form/httpurl"
	"bailiff/vm/match"
)

var texts = flag.Int("texts", 0, "compare that many texts a leaf, instead of the usual number")

// The service has one package for each normal form, and the oracle a naive function. Both are written from the same
// documents; a leaf compares the two on generated texts. An answer is the normal form, or unreadable.
type leaf struct {
	name     string
	texts    int // how many are compared
	pieces   []string
	length   int // of texts, in pieces
	service  func(text string) string
	naive    func(text string) string
	careless func(text string) string // a service with a fault that the comparison must find
	// stricter says that the service may refuse what the documents let pass: of commands the measure is what bash starts,
	// which package fuzz/bash holds it to.
	stricter bool
}

const unreadable = "(unreadable)"

// mark stands between an entry and its subject, and between the forms of an answer.
const mark = "\x01"

// disagreement returns the first text on which a service and the naive function differ, how they do, and how many
// texts the service could read.
func (l leaf) disagreement(random *rand.Rand, service func(string) string) (found string, readable int) {
	for range l.count() {
		text := l.text(random)
		want, got := l.naive(text), service(text)
		if got != unreadable {
			readable++
		}
		if want != got && !(l.stricter && got == unreadable) {
			return fmt.Sprintf("%q\n\tthe service says %q\n\tthe oracle says  %q", text, got, want), readable
		}
	}
	return "", readable
}

func (l leaf) count() int {
	if *texts > 0 {
		return *texts
	}
	return l.texts
}

// text makes a text of pieces, and now and then of any characters.
func (l leaf) text(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.Intn(l.length) {
		if random.Intn(40) == 0 {
			if r := rune(random.Intn(0x3100)); r != rune(mark[0]) {
				b.WriteRune(r)
			}
			continue
		}
		b.WriteString(l.pieces[random.Intn(len(l.pieces))])
	}
	return b.String()
}

func TestLeaves(t *testing.T) {
	start := seed.Value(t)
	for _, l := range leaves() {
		t.Run(l.name, func(t *testing.T) {
			found, readable := l.disagreement(rand.New(rand.NewSource(start)), l.service)
			if found != "" {
				t.Fatal(found)
			}
			if n := l.count(); readable < n/100 || readable > n*99/100 {
				t.Errorf("%d of %d texts are readable: the comparison shows little", readable, n)
			}
		})
	}
}

// TestLeavesCanary plants a fault into each service.
func TestLeavesCanary(t *testing.T) {
	for _, l := range leaves() {
		if found, _ := l.disagreement(rand.New(rand.NewSource(1)), l.careless); found == "" {
			t.Errorf("%s: nobody noticed the planted fault", l.name)
		}
	}
}

func leaves() []leaf {
	return slices.Concat(hostLeaves, pathLeaves, commandLeaves, otherLeaves)
}

var hostPieces = []string{"a", "b", "example", "com", ".", ".", ".", "-", "_", "xn--", "xn--bcher-kva", "xn--a", "0x", "0", "1", "7f", "255",
	"256", "127", "4294967296", "08", "ü", "ß", "ﬁ", "Ａ", "。", "\u00ad", "\u200d", "א", "ا", "K", "A", "EXAMPLE", "::", ":", "[", "]", "ffff", "%", " ", "*", ",",
	strings.Repeat("l", 63), strings.Repeat("l", 50) + "."}

var hostLeaves = []leaf{
	{
		name: "hosts", texts: 30_000, pieces: hostPieces, length: 7,
		service: serviceHost,
		naive:   func(text string) string { return orUnreadable(canonicalHost(text), utf8.ValidString(text)) },
		careless: func(text string) string {
			host := serviceHost(text)
			return strings.ReplaceAll(host, "_", "-")
		},
	},
	{
		name: "urls", texts: 30_000, length: 9,
		pieces: append([]string{"/", "?", "#", "@", "//", ":80", ":443", ":8080", ":", "?a=b", "/x%2fy"}, hostPieces...),
		service: func(text string) string {
			u, err := httpurl.Parse("http://" + text)
			return urlText(u.Host, u.Path, u.Query, err == nil)
		},
		naive: func(text string) string {
			if _, err := httpurl.Parse("http://" + text); err != nil {
				return unreadable // the decoder refuses it
			}
			u := readURL("http://" + text)
			return urlText(u.host, u.path, u.query, true)
		},
		careless: func(text string) string {
			u, err := httpurl.Parse("http://" + text)
			return urlText(u.Host, strings.TrimSuffix(u.Path, "/"), u.Query, err == nil)
		},
	},
	{
		name: "lists of hosts", texts: 30_000, length: 8,
		pieces: []string{mark, mark, mark, "*.", "a", "b", ".", ".", ".", "a.b", "B.", "1", "127.1", "127.0.0.1", "[::1]", "::1", "ü"},
		service: func(text string) string {
			return serviceLists(text, match.CoversHost)
		},
		naive: func(text string) string {
			entry, subject, _ := strings.Cut(text, mark)
			host := canonicalHost(subject)
			name, wild := strings.CutPrefix(entry, "*.")
			listed := canonicalHost(name)
			if _, err := httpurl.AllowedEntry(entry); err != nil || host == "" {
				return unreadable // the compiler refuses it
			}
			return fmt.Sprint(hostPattern{listed, true, true}.covers(host), hostPattern{listed, !wild, wild}.covers(host))
		},
		careless: func(text string) string {
			return serviceLists(text, func(entry, host string) bool { return strings.HasSuffix(host, entry) })
		},
	},
}

func serviceHost(text string) string {
	host, err := httpurl.Host(text)
	return orUnreadable(host, err == nil)
}

func serviceLists(text string, blocked func(entry, host string) bool) string {
	entry, subject, _ := strings.Cut(text, mark)
	host, err := httpurl.Host(subject)
	blocks, blockErr := httpurl.BlockedEntry(entry)
	allows, allowErr := httpurl.AllowedEntry(entry)
	if err != nil || blockErr != nil || allowErr != nil {
		return unreadable
	}
	allowed := host == allows
	if domain, ok := strings.CutPrefix(allows, "*"); ok {
		allowed = match.CoversHost(domain, host)
	}
	return fmt.Sprint(blocked(blocks, host), allowed)
}

func urlText(host, path, query string, ok bool) string {
	return orUnreadable(host+" "+path+" "+query, ok)
}

func orUnreadable(text string, ok bool) string {
	if !ok || text == "" {
		return unreadable
	}
	return text
}

var pathPieces = []string{"/", "/", "/", "/", `\`, "a", "b", "A", ".", "..", "../", "./", "~", "~1", "c:", "C:", "d:", "c", ":", ":x", "file:", "$", "%", "%", " ",
	".env", "home", "root", "users", "x", "1", "é", "E\u0301", "ß", "ſ", "K", "\u200c", "\u0345", "ꭰ", "Ꭰ", "?", "//?/", "??/", "*", "abcdef", "\t", "İ", "ǰ", "Ⅷ"}

var pathLeaves = []leaf{
	{
		name: "paths", texts: 40_000, pieces: pathPieces, length: 9,
		service: servicePath,
		naive: func(text string) string {
			p, ok := readPath(text)
			clean := strings.Join(p.segments, "/")
			if p.absolute {
				clean = "/" + clean
			} else if clean == "" {
				clean = "."
			}
			return orUnreadable(clean, ok)
		},
		careless: func(text string) string { return strings.ReplaceAll(servicePath(text), ":", "") },
	},
	{
		name: "blocked paths", texts: 60_000, length: 11,
		pieces:  []string{mark, mark, "/", "/", "/", "/", "/", "/", "/", "a", "b", "a", "*", "~", "c:", "d:", "home", "root", "users", ".env", "/home/x", "c:/users", "..", "."},
		service: func(text string) string { return serviceBlocked(text, match.CoversPath) },
		naive: func(text string) string {
			entry, subject, _ := strings.Cut(text, mark)
			if _, err := fspath.ParseEntry(entry); err != nil {
				return unreadable // the compiler refuses it
			}
			all, err := readPathEntries([]string{entry})
			return fmt.Sprint(err == nil && pathBlocked(all, subject))
		},
		careless: func(text string) string { return serviceBlocked(text, strings.HasPrefix) },
	},
}

func servicePath(text string) string {
	clean, suspicious := fspath.Clean(text)
	return orUnreadable(clean, !suspicious)
}

func serviceBlocked(text string, covers func(a, b string) bool) string {
	entry, subject, _ := strings.Cut(text, mark)
	patterns, err := fspath.ParseEntry(entry)
	if err != nil {
		return unreadable
	}
	clean, suspicious := fspath.Clean(subject)
	return fmt.Sprint(suspicious || slices.ContainsFunc(patterns, func(pattern string) bool { return covers(pattern, clean) }))
}

var commandPieces = []string{" ", " ", " ", "\t", "\n", "\\\n", "rm", "-rf", "a", "'", `"`, `\`, "$'", `$"`, "$", "$x", "${x}", "${x:-", "$(", "$((", "`", ")", "))", "}", "(",
	"{", "{a,b}", ";", "|", "&", ">", "<(", "[", "[[ ", " ]]", "*", "?", "@(", "+(", "if ", "then ", "elif ", "else ", "fi", "x=", "x+=(", "export ", "declare -a ", "env ", "sudo ",
	"nice -n ", "bash ", "command -v ", "exec -a ", "eval ", "-u ", "+o ", "/usr/bin/env ", `\x41`, `\x{`, `\0`, `\101`, `\cx`, `\c\\`, `\u00e9`,
	`\U110000`, "\u00a0", "é", "! ", "time ", "coproc ", "\r\n", "'a  b'", "f() ", "case x in ", "esac", "$@", `"$@"`, `"$x"`, "{}"}

// Of commands the leaves compare which can be judged. What xargs, shells and arithmetic read, and words that are only dashes,
// package fuzz/bash holds to bash itself; the forms in which the two seek are their own business, and the
// differential run compares what they find.
var commandLeaves = []leaf{
	{
		name: "commands", texts: 60_000, pieces: commandPieces, length: 9, stricter: true,
		service: serviceCommand,
		naive:   naiveCommand,
		careless: func(text string) string { // a command word that is an expansion
			return serviceCommand(strings.ReplaceAll(text, "$x", "x"))
		},
	},
	{
		name: "wrapped commands", texts: 40_000, length: 5, stricter: true,
		pieces: []string{"env ", "sudo ", "nice ", "bash ", "command ", "exec ", "time ", "timeout ", "find . ", "-exec ls ", "a=1 ", "a=$b ", `"a=$b" `, `a="$@" `, `a="${b}" `,
			`a="${b:-c}" `, `a="$(b)" `, "-n ", "-n1 ", "-u ", "-V ", "--unset ", "--user=$u ", "--us ", "-c ", "-oO ", "+o ", "$x ", "*.sh ", "ls ", "1 ", `"$x" `, `-"u" `, "; "},
		service: func(text string) string { return serviceCommand("env " + text) },
		naive:   func(text string) string { return naiveCommand("env " + text) },
		careless: func(text string) string { // env is not known to run what follows it
			return serviceCommand("echo " + text)
		},
	},
	{
		name: "entries of commands", texts: 10_000, pieces: commandPieces, length: 5,
		service: func(text string) string { return orUnreadable(command.Collapse(text), len(text) > 4) },
		naive:   func(text string) string { return orUnreadable(shell.Collapsed(text), len(text) > 4) },
		careless: func(text string) string {
			return orUnreadable(strings.Join(strings.Split(text, "  "), " "), len(text) > 4)
		},
	},
}

func serviceCommand(text string) string {
	_, err := command.Read(text)
	return orUnreadable("readable", err == nil)
}

func naiveCommand(text string) string {
	_, ok := shell.Forms(text)
	return orUnreadable("readable", ok)
}

const mixedCase = "A0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"

var otherLeaves = []leaf{
	{
		name: "recipients", texts: 60_000, length: 7,
		pieces: []string{"ann", "Bob", "@", "@", "@example.com", "a@b", ".", "<", ">", " <a@b>", "<c@d.e>", `"`, `"x"`, `"x@y" `, `\"`, " ", " ", "(", ")", "(c)", ",", ";", ":", "[", "]", "[::1]", "é",
			"K", "İ", "\u200b", "\u00a0", "\n", "\u00ad", "=?utf-8?q?a?=", "+", "'", "\u202e", strings.Repeat("l", 60), strings.Repeat("m", 250), strings.Repeat("Ⱥ", 100)},
		service: func(text string) string { return orUnreadable(email.Parse(text)) },
		naive:   func(text string) string { return orUnreadable(readAddress(text)) },
		careless: func(text string) string {
			return orUnreadable(email.Parse(strings.ReplaceAll(text, `"x"`, "x")))
		},
	},
	{
		name: "addresses", texts: 10_000, length: 3,
		pieces: []string{"0x" + mixedCase, "0x" + strings.ToUpper(mixedCase), "0x" + strings.ToLower(mixedCase), "0x" + strings.ToLower(mixedCase[:39]), "0x", "8", "a", "B", "0x" + mixedCase[:39] + "9",
			"0x" + swapCase(mixedCase)},
		service: func(text string) string {
			normal, err := evmaddr.Normalize(text)
			return orUnreadable(normal, err == nil)
		},
		naive:    func(text string) string { return orUnreadable(strings.ToLower(text), wellFormedAddress(text)) },
		careless: func(text string) string { return orUnreadable(strings.ToLower(text), addressForm.MatchString(text)) },
	},
}

func swapCase(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, text)
}
