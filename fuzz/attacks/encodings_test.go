package attacks

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// encodings describes each encoding, for the page.
var encodings = map[string]string{
	"plain":          "as it is usually written",
	"border":         "one step on either side of a limit",
	"case":           "upper and mixed case",
	"percent":        "percent escapes",
	"double-percent": "percent escapes of percent escapes",
	"overlong":       "bytes that are not UTF-8, overlong forms included",
	"full-width":     "full-width and mathematical letters and digits",
	"look-alike":     "letters of other alphabets that look the same",
	"zero-width":     "characters that are not seen",
	"composed":       "accents as characters of their own, and ligatures",
	"idn":            "internationalised names and their ASCII form",
	"trailing-dot":   "a dot, or dots and spaces, at the end",
	"authority":      "user information, ports, and other parts of an authority",
	"scheme":         "other schemes and the lack of one",
	"backslash":      "backslashes for slashes",
	"white-space":    "spaces, tabs and line ends",
	"control":        "control characters",
	"octal":          "octal numbers",
	"hex":            "hexadecimal numbers",
	"decimal":        "one decimal number",
	"short":          "missing and merged parts",
	"ipv6":           "IPv6 literals that hold an IPv4 address",
	"dot-segments":   "segments . and .. and empty ones",
	"prefix":         "what begins or ends like it and is something else",
	"drive":          "drives, devices and streams of Windows",
	"home":           "home directories and variables",
	"link":           "names that only a file system resolves",
	"quotes":         "quotes and backslashes inside of words",
	"ansi-c":         "$'…' with escapes",
	"ifs":            "$IFS and braces for spaces",
	"variables":      "values of variables and of expansions",
	"assignments":    "assignments in front of a command",
	"here-doc":       "here-documents and here-strings",
	"substitution":   "$(…), backquotes and process substitutions",
	"runner":         "programs that run other programs",
	"evaluation":     "texts that the shell evaluates",
	"operators":      "operators of the shell without spaces",
	"redirection":    "redirections",
	"definition":     "functions, aliases and loops",
	"glob":           "wildcards",
	"address-list":   "lists, groups and comments of RFC 5322",
	"duplicate":      "names that occur twice",
	"escape":         "escapes of JSON",
	"number":         "numbers in other forms",
	"nesting":        "values inside of values, deep or many",
	"framing":        "bytes before, after and around",
	"type":           "values of another type",
	"missing":        "values that are left out",
	"octal-url":      "a URL of an address in octal numbers",
	"hex-url":        "a URL of an address in hexadecimal numbers",
	"heavy-text":     "long texts",
	"heavy-json":     "many small values",
	"heavy-policy":   "policies that take much to read, to keep or to judge",
	"nested-json":    "arrays and objects of more than 32 levels",
	"place":          "the same field at another place",
	"unit":           "other units",
	"address":        "other spellings of an address",
	"padding":        "bytes behind arguments, and in front of them",
	"cut":            "arguments that are cut off",
	"method":         "other methods with the same effect",
	"wrapped":        "calls inside of calls",
	"declared":       "declarations that differ from the data",
	"typed-data":     "signatures of typed data that act later",
	"name":           "other names of the same thing",
	"signature":      "signatures of another key or text, or malformed ones",
	"header":         "headers of tokens and requests",
	"claim":          "claims that are changed",
	"comment":        "comments and headings that swallow lines",
	"repetition":     "the same again",
	"concurrent":     "many requests at the same time",
	"size":           "sizes at and beyond a bound",
	"redirect":       "names that lead to another address",
}

// encoders spell a value in other ways, which a reader may take for the value.
var encoders = map[string]func(string) []string{
	"case":           cases,
	"percent":        percents,
	"double-percent": doublePercents,
	"full-width":     fullWidths,
	"look-alike":     lookAlikes,
	"zero-width":     zeroWidths,
	"composed":       composed,
	"idn":            idns,
	"trailing-dot":   trailingDots,
	"octal":          octals,
	"hex":            hexes,
	"decimal":        decimals,
	"short":          shorts,
	"ipv6":           ipv6s,
	"dot-segments":   dotSegments,
	"backslash":      backslashes,
	"quotes":         quotes,
	"ansi-c":         ansiCs,
	"ifs":            ifs,
	"escape":         escapes,
	"runner":         runners,
	"evaluation":     evaluations,
	"substitution":   substitutions,
	"operators":      operatorForms,
	"here-doc":       hereDocs,
	"assignments":    assignments,
	"address":        addresses,
	"nesting":        nestings,
	"nested-json":    nestedJSON,
	"size":           sizes,
	"method":         methods,
	"padding":        paddings,
	"cut":            cuts,
	"wrapped":        wrapped,
	"typed-data":     permits,
	"octal-url":      urls(octals),
	"hex-url":        urls(hexes),
	"heavy-text":     heavyTexts,
	"heavy-json":     heavyJSON,
	"heavy-policy":   heavyPolicies,
}

func cases(s string) []string {
	mixed := []rune(s)
	for i := range mixed {
		if i%2 == 0 {
			mixed[i] = unicode.ToUpper(mixed[i])
		}
	}
	first := []rune(s)
	for i, r := range first {
		if unicode.IsLower(r) {
			first[i] = unicode.ToUpper(r)
			break
		}
	}
	return distinct(s, strings.ToUpper(s), string(mixed), string(first))
}

// distinct returns the spellings that differ from s, each once.
func distinct(s string, spellings ...string) (all []string) {
	seen := map[string]bool{s: true}
	for _, each := range spellings {
		if !seen[each] {
			seen[each] = true
			all = append(all, each)
		}
	}
	return all
}

// escape writes each character that f picks in a form.
func rewrite(s, form string, f func(i int, c byte) bool) string {
	var b strings.Builder
	for i := range len(s) {
		if f(i, s[i]) {
			fmt.Fprintf(&b, form, s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func every(int, byte) bool       { return true }
func firstOf(i int, _ byte) bool { return i == 0 }
func lastOf(s string) func(int, byte) bool {
	return func(i int, _ byte) bool { return i == len(s)-1 }
}

func letters(_ int, c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func percents(s string) []string {
	return distinct(s, rewrite(s, "%%%02x", every), rewrite(s, "%%%02X", every), rewrite(s, "%%%02x", firstOf), rewrite(s, "%%%02X", lastOf(s)))
}

func doublePercents(s string) []string {
	return distinct(s, rewrite(s, "%%25%02x", every), rewrite(s, "%%25%02X", firstOf), rewrite(s, "%%2525%02x", firstOf))
}

// shifted moves printable ASCII to another block of Unicode.
func shifted(s string, pick func(rune) rune) string { return strings.Map(pick, s) }

func fullWidths(s string) []string {
	full := func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r + 0xfee0
		}
		return r
	}
	bold := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 0x1d41a + r - 'a'
		case r >= '0' && r <= '9':
			return 0x1d7ce + r - '0'
		}
		return r
	}
	one := []rune(s)
	one[len(one)-1] = full(one[len(one)-1])
	return distinct(s, shifted(s, full), shifted(s, bold), string(one))
}

// confusable are letters of other alphabets that look like those of ASCII.
var confusable = map[rune]rune{'a': 'а', 'c': 'с', 'e': 'е', 'i': 'і', 'o': 'о', 'p': 'р', 's': 'ѕ', 'x': 'х', 'y': 'у', 'm': 'ⅿ', 'l': 'ⅼ', 'r': 'г'}

func lookAlikes(s string) []string {
	all := shifted(s, func(r rune) rune {
		if other, ok := confusable[r]; ok {
			return other
		}
		return r
	})
	one := s
	for i, r := range s {
		if other, ok := confusable[r]; ok {
			one = s[:i] + string(other) + s[i+1:]
			break
		}
	}
	return distinct(s, all, one)
}

func zeroWidths(s string) (all []string) {
	middle := len(s) / 2
	for _, r := range []rune{0x200b, 0x200d, 0x2060, 0xfeff, 0x00ad, 0x202e, 0x034f, 0xfe0f} {
		all = append(all, s[:middle]+string(r)+s[middle:])
	}
	return all
}

func composed(s string) []string {
	return distinct(s, norm.NFD.String(s), norm.NFC.String(s), norm.NFKD.String(s))
}

func idns(s string) []string {
	ascii, err := idna.Punycode.ToASCII(strings.ToLower(s))
	if err != nil {
		return nil
	}
	dots := []string{"。", "．", "｡"}
	var all []string
	if ascii != s {
		all = append(all, ascii, strings.ToUpper(ascii))
	}
	for _, dot := range dots {
		all = append(all, strings.ReplaceAll(s, ".", dot))
	}
	return distinct(s, all...)
}

func trailingDots(s string) []string { return []string{s + "."} }

// parts returns the four bytes of an IPv4 address.
func parts(s string) [4]byte { return netip.MustParseAddr(s).As4() }

func octals(s string) []string {
	p := parts(s)
	return []string{
		fmt.Sprintf("0%o.0%o.0%o.0%o", p[0], p[1], p[2], p[3]), fmt.Sprintf("0%o.%d.%d.%d", p[0], p[1], p[2], p[3]),
		fmt.Sprintf("000%o.000%o.000%o.000%o", p[0], p[1], p[2], p[3]), fmt.Sprintf("0%o", number(p)),
	}
}

func number(p [4]byte) uint32 {
	return uint32(p[0])<<24 | uint32(p[1])<<16 | uint32(p[2])<<8 | uint32(p[3])
}

func hexes(s string) []string {
	p := parts(s)
	return []string{
		fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", p[0], p[1], p[2], p[3]), fmt.Sprintf("0x%08x", number(p)), fmt.Sprintf("0X%08X", number(p)),
		fmt.Sprintf("0x%02x.%d.0x%x", p[0], p[1], uint(p[2])<<8|uint(p[3])), fmt.Sprintf("%d.0x%x", p[0], number(p)&0xffffff), fmt.Sprintf("0x0000%08x", number(p)),
	}
}

func decimals(s string) []string { return []string{fmt.Sprint(number(parts(s)))} }

func shorts(s string) []string {
	p := parts(s)
	return []string{fmt.Sprintf("%d.%d", p[0], number(p)&0xffffff), fmt.Sprintf("%d.%d.%d", p[0], p[1], uint(p[2])<<8|uint(p[3]))}
}

func ipv6s(s string) []string {
	p := parts(s)
	high, low := uint(p[0])<<8|uint(p[1]), uint(p[2])<<8|uint(p[3])
	return []string{
		fmt.Sprintf("[::ffff:%s]", s), fmt.Sprintf("[::FFFF:%x:%x]", high, low), fmt.Sprintf("[0:0:0:0:0:ffff:%s]", s), fmt.Sprintf("[::%s]", s),
		fmt.Sprintf("[::%x:%x]", high, low), fmt.Sprintf("[64:ff9b::%s]", s), fmt.Sprintf("[64:ff9b::%x:%x]", high, low), fmt.Sprintf("[2002:%x:%x::]", high, low),
		fmt.Sprintf("[2002:%x:%x::1]", high, low), fmt.Sprintf("[64:ff9b:1::%x:%x]", high, low), fmt.Sprintf("[0000:0000:0000:0000:0000:FFFF:%04X:%04X]", high, low),
	}
}

// dotSegments spells a path of two segments or more so that cleaning it gives the path.
func dotSegments(s string) []string {
	cut := strings.LastIndexByte(s, '/')
	head, tail := s[:cut], s[cut:]
	return []string{
		head + "/." + tail, head + "//" + tail, head + "/x/.." + tail, "/." + s, "//" + s, "///" + s, "/.." + s, "/x/.." + s, "/x/../../y/.." + s,
		s + "/", s + "/.", s + "/x/..", head + "/./././" + tail, "/x/y/../.." + s,
	}
}

func backslashes(s string) []string {
	all := strings.ReplaceAll(s, "/", `\`)
	return distinct(s, all, strings.Replace(s, "/", `\`, 1), strings.ReplaceAll(s, "/", `\\`), all+`\`)
}

// quotes writes the words of a command with quotes and backslashes inside.
func quotes(s string) []string {
	word, rest, _ := strings.Cut(s, " ")
	if rest != "" {
		rest = " " + rest
	}
	half := len(word) / 2
	return distinct(s, `"`+word+`"`+rest, `'`+word+`'`+rest, word[:half]+`""`+word[half:]+rest, word[:half]+`''`+word[half:]+rest, `\`+word+rest,
		word[:half]+`\`+word[half:]+rest, `"`+word[:half]+`"'`+word[half:]+`'`+rest, word[:half]+"\\\n"+word[half:]+rest, `$"`+word+`"`+rest)
}

func ansiCs(s string) []string {
	word, rest, _ := strings.Cut(s, " ")
	if rest != "" {
		rest = " " + rest
	}
	return []string{
		"$'" + word + "'" + rest, "$'" + rewrite(word, `\x%02x`, every) + "'" + rest, "$'" + rewrite(word, `\%03o`, every) + "'" + rest,
		"$'" + rewrite(word, `\u%04x`, every) + "'" + rest, "$'" + rewrite(word, `\x%02x`, firstOf) + "'" + rest, word[:1] + "$'" + word[1:] + "'" + rest,
		"$'" + rewrite(word, `\U%08x`, every) + "'" + rest,
	}
}

func ifs(s string) []string {
	return []string{
		strings.ReplaceAll(s, " ", "${IFS}"), strings.ReplaceAll(s, " ", "$IFS$9"), "{" + strings.ReplaceAll(s, " ", ",") + "}",
		strings.ReplaceAll(s, " ", "${IFS%??}"), "IFS=,;`cat<<<" + strings.ReplaceAll(s, " ", ",") + "`",
	}
}

func escapes(s string) []string {
	var half strings.Builder
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&half, `\u%04X`, unit)
	}
	return distinct(s, rewrite(s, `\u%04x`, every), half.String(), rewrite(s, `\u%04x`, firstOf), rewrite(s, `\u%04x`, letters), rewrite(s, `\u%04x`, lastOf(s)))
}

func forms(s string, all ...string) []string {
	made := make([]string, len(all))
	for i, form := range all {
		made[i] = strings.ReplaceAll(form, "@", s)
	}
	return made
}

func runners(s string) []string {
	return forms(s, "sudo @", "sudo -u root @", "env @", "env -i A=1 @", "nice -n 5 @", "nohup @", "timeout 5 @", "xargs @", "echo x | xargs -n1 @", "command @", "exec @",
		"builtin command @", "stdbuf -o0 @", "setsid @", "busybox @", "chroot / @", "find . -exec @ {} +", "time @", "! @", "doas @", "ionice -c3 @", "unshare @",
		"watch @", "ssh host @", "flock /tmp/l @", "strace @")
}

func evaluations(s string) []string {
	return forms(s, `bash -c "@"`, `sh -c '@'`, `bash -lc "@"`, `eval "@"`, `eval @`, `trap '@' EXIT`, `alias ll='@'`, `bash -c "bash -c '@'"`, `env -S "@"`,
		`eval "eval '@'"`, `dash -c '@'`, `PROMPT_COMMAND='@' bash -i`, `bash <(echo "@")`, `echo "@" | bash`, `su -c '@'`, `ENV='$(@)' sh -i`,
		`PS4='$(@)' bash -xc :`, `script -c "@" /dev/null`, `zsh -c "@"`, `mapfile -C '@' -c 1 a`)
}

func substitutions(s string) []string {
	return forms(s, "echo $(@)", "echo `@`", `echo "$(@)"`, "echo \"`@`\"", "cat <(@)", "x=$(@)", "echo ${x:-$(@)}", `echo "${x:=$(@)}"`, "tee >(@)", "echo $((1+$(@)))",
		"[[ $(@) ]]", "case $(@) in *) ;; esac", "echo $(echo $(@))", "echo ${ @; }")
}

func operatorForms(s string) []string {
	return forms(s, "true;@", "true&&@", "false||@", "echo x|@", "true&@", "(@)", "{ @; }", "true\n@", "if @;then :;fi", "while @;do break;done", "!@", "for x in 1;do @;done",
		"case x in x)@;;esac", "((@))||@", "true;@;", "@&", "@|cat", "@>/dev/null", "until @; do :; done")
}

func hereDocs(s string) []string {
	return forms(s, "bash <<< '@'", "bash <<X\n@\nX", "bash <<'X'\n@\nX", "bash <<-X\n\t@\nX", "cat <<X | sh\n@\nX", "cat <<X\n$(@)\nX", "sh -s <<X\n@\nX", "sh <<< \"@\"",
		"bash /dev/stdin <<X\n@\nX")
}

func assignments(s string) []string {
	return forms(s, "A=1 @", "A=1 B=2 @", "PATH=/tmp @", "LD_PRELOAD=./x.so @", "IFS=x @", "A='b c' @", "A+=1 @", "A[0]=1 @")
}

// addresses spells the hex digits of an address in other ways.
func addresses(s string) []string {
	digits := strings.TrimPrefix(s, "0x")
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return nil
	}
	return distinct(s, "0x"+strings.ToUpper(digits), "0x"+hex.EncodeToString(raw))
}

// nestings puts a command inside of others, deeper than 32.
func nestings(s string) []string {
	evaluated := s
	for range 40 {
		evaluated = "$(" + evaluated + ")"
	}
	return []string{strings.Repeat("(", 40) + s + strings.Repeat(")", 40), strings.Repeat("{ ", 70) + s + strings.Repeat("; }", 70), "echo " + evaluated}
}

// sizes makes a text longer than 8 KiB.
func sizes(s string) []string {
	return []string{s + strings.Repeat("a", 8200), strings.Repeat(" ", 8200) + s, s + strings.Repeat("a ", 4100)}
}

// nestedJSON puts a value into more than 32 levels of arrays and objects.
func nestedJSON(s string) []string {
	return []string{strings.Repeat("[", 33) + s + strings.Repeat("]", 33), strings.Repeat(`{"a":`, 33) + s + strings.Repeat("}", 33),
		strings.Repeat(`[{"a":`, 5000) + s + strings.Repeat("}]", 5000), strings.Repeat("[", 20000)}
}

// urls makes addresses of webhooks of an encoding.
func urls(encode func(string) []string) func(string) []string {
	return func(s string) (all []string) {
		for _, host := range encode(s) {
			all = append(all, "https://"+host+"/")
		}
		return all
	}
}

func heavyTexts(s string) []string {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return []string{`"` + strings.Repeat("a", n) + `"`, `"` + strings.Repeat(`\u0061`, n/6+1) + `"`, strings.Repeat(" ", n) + "1"}
}

func heavyJSON(s string) []string {
	n, err := strconv.Atoi(s)
	if err != nil {
		return nil
	}
	return []string{"[" + strings.Repeat("1,", n) + "1]", "[" + strings.Repeat("[],", n) + "[]]", "[" + strings.Repeat("{},", n) + "{}]"}
}

// heavyPolicies are each beyond one bound.
func heavyPolicies(string) []string {
	const head = "version: 2.4.0\n\n## tool_calls\nallowed: bash\n"
	many := func(form string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	return []string{
		head + many("# comment %d .......................................................................................................\n", 2400) + many("#%d\n", 100),
		head + strings.Repeat("#\n", 10_001),
		head + "# " + strings.Repeat("a", 65<<10) + "\n",
		head + "bash.blocked_commands: " + strings.TrimSuffix(many("c%d,", 4097), ",") + "\n",
		head + "\n## custom\ndeny_if.command matches \"" + strings.Repeat("a", 257) + "\"\n",
		head + "\n## custom\ndeny_if.command matches \"(a{1,100}){1,100}\"\n",
		head + "\n## custom\ndeny_if.command matches \"(((a{1,30}){1,30}){1,30}){1,30}\"\n",
		head + "\n## custom\n" + many("deny_if.command matches \"(a|b|c|d){1,90}x%d.{0,90}\"\n", 400),
		head + "\n## custom\nallow_only." + strings.TrimSuffix(strings.Repeat("a.", 33), ".") + ": x\n",
	}
}
