package gen

func (b *builder) addMCP() {
	s := b.section("mcp")
	if b.r.Chance(60) {
		s.list("allowed_servers", b.r.Some(4, append([]string{"GitHub"}, servers[1:]...)...))
	}
	if s.Find("allowed_servers") == nil || b.may() {
		s.list("allowed_tools", b.r.Some(5, "read_*", "search", "Create_Issue", "github.list*", "jira.*", "files.read_file", "*.search", "pg.list.*"))
	}
	// None of these covers an entry of allowed_tools, which would be an error.
	b.maybeList(s, "blocked_tools", 3, []string{"delete_*", "github.delete*", "purge", "*.purge", "jira.Delete_repo", "files.list.*", "*_repo", "*.b.*"})
	b.common(s, []string{"create_*", "github.*", "search", "*.list.*", "purge", "*_file", "l*t.*", "*_repo", "*.purge"})
	if b.from(2, 2) && b.may() {
		b.responses(s)
	}
}

// responses adds what describes how a client inspects results; nothing of it judges a request.
func (b *builder) responses(s *Section) {
	exact := []string{}
	if entry := s.Find("allowed_tools"); entry != nil {
		for _, tool := range entry.Values {
			if tool == "search" || tool == "files.read_file" {
				exact = append(exact, tool)
			}
		}
	}
	if len(exact) == 0 {
		return
	}
	s.list("response."+b.r.Pick("web_fetch_tools", "http_tools"), exact[:1])
	s.scalar("response.deterministic_ruleset", "sof-response-rules-v1")
	s.list("response.block_classes", b.r.Some(2, "malicious_url", "pii", "prompt_injection", "secret"))
}
