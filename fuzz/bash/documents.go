package bash

import "strings"

// What here-documents are made of: delimiters, lines that may end them, lines of bodies, and what they stand in.
var (
	delimiters = []string{"E", "E", "E", "'E'", "\"E\"", "\\E", "'E F'", "E-", "E.F", "EF", "-E", "'E'F", "$'E'", "@(E)", "E\\F", "''", "\"E\\\"\""}
	endings    = []string{"E", "E", "E", "E", "E F", "EF", "E ", " E", "\tE", "E\\", "-E", "E)", "E`", "", "E\n", "E;", "'E'", "E&&:", "E\""}
	bodies     = []string{"x", "\\", "x \\", "\tx", "$(", ")", "`", "'", "\"", "# x \\", "${", "}", "\\\\", "x\\\\", "$((", "))", "x'", "\t\\", "((", "{", "#'", "<<E", "<<'F'", "\\E", "$'", "E\\"}
	lineEnds   = []string{"", "", "", "", " | cat", " && :", " &", ";", " # c", " \\\n", " x", ")", "`", "; }", " $(:", "\"", " `:"}
	enclosing  = []string{
		"%p", "%p", "$(%p\n)", "`%p\n`", "echo \"$(%p\n)\"", "{ %p\n}", "(%p\n)", "if :; then %p\nfi", "f() { %p\n}; f", "cat <(%p\n)", "bash -c '%p\n'", "eval \"%p\n\"", "echo $(%p)", "echo `%p`", "x=$(%p\n)", "[[ x == $(%p\n) ]]",
		"echo $((1+$(%p\n)))", "case x in x) %p\n;; esac", "cat <<G\n$(%p\n)\nG", "cat <<G\n`%p\n`\nG", "echo \"`%p\n`\"", "echo ${x:-$(%p\n)}", "$(%p)", "cat <(%p)", "(%p)", "{ %p; }", "echo $( (%p) )", "f() (%p); f", "%p\n%p",
	}
)

// documents returns a command with here-documents, of which it is hard to tell where they end. The blocked program is behind them.
func (g *Generator) documents() string {
	var b strings.Builder
	write := func(most int, from []string) {
		for range g.r.IntN(most + 1) {
			b.WriteString(g.pick(from) + "\n")
		}
	}
	b.WriteString(g.pick([]string{"cat", "bash", ":", "shopt -s extglob\ncat"}))
	number := 1 + g.r.IntN(2)
	for range number {
		b.WriteString(" " + g.pick([]string{"<<", "<<-", "<< ", "<<- "}) + g.pick(delimiters))
	}
	b.WriteString(g.pick(lineEnds) + "\n")
	write(3, bodies)
	write(number, endings)
	b.WriteString(g.pick([]string{"$X", "$A$B W", "eval $X"}) + "\n")
	write(1, bodies)
	write(number, endings)
	return g.wrap(g.pick(enclosing), strings.TrimSuffix(b.String(), "\n"))
}
