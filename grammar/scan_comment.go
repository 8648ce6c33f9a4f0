package grammar

import "strings"

const (
	commentOpen  = "<!--"
	commentClose = "-->"
)

// scanComment takes the comment that opens at an offset, over as many lines as it has.
func (s *scanner) scanComment(at int) {
	inside := at + len(commentOpen)
	length := -1
	if !s.unclosed {
		length = strings.Index(s.text[inside:], commentClose)
	}
	if length < 0 {
		s.unclosed = true
		s.found.add(At(CodeOpenComment, Span{at, inside}, "this comment is never closed").
			WithHint("close it with `%s` at the end of a line", commentClose))
		return
	}
	end := inside + length
	s.refuseEnds(at, end)
	end += len(commentClose)
	s.comments = append(s.comments, Comment{Span{at, end}, s.text[at:end]})
	s.next = end
	if rest := s.cut(); rest.at < rest.end {
		s.found.add(At(CodeAfterComment, Span{rest.at, rest.end}, "a comment must end at the end of a line").
			WithHint("put this on a line of its own"))
	}
}

// refuseEnds reports what other readers may take for the end or the start of a comment, in one whose text
// ends at an offset.
func (s *scanner) refuseEnds(at, end int) {
	inside := at + len(commentOpen)
	for _, early := range []string{">", "->"} {
		if strings.HasPrefix(s.text[inside:], early) {
			s.found.add(At(CodeCommentEnd, Span{at, inside + len(early)}, "some programs end the comment here").
				WithHint("leave a space after `%s`", commentOpen))
		}
	}
	if i := strings.Index(s.text[inside:end], "--!>"); i >= 0 {
		s.found.add(At(CodeCommentEnd, Span{inside + i, inside + i + len("--!>")}, "some programs end the comment here").
			WithHint("close the comment with `%s`", commentClose))
	}
	s.refuseCommentIn(inside, end)
}

// refuseCommentIn reports the first `<!--` between two offsets, where none may open.
func (s *scanner) refuseCommentIn(start, end int) bool {
	i := strings.Index(s.text[start:end], commentOpen)
	if i < 0 {
		return false
	}
	s.found.add(At(CodeStrayComment, Span{start + i, start + i + len(commentOpen)}, "a comment must start first on its line").
		WithHint("move it to a line of its own, or quote the value that it belongs to"))
	return true
}
