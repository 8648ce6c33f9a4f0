package blocks

import "testing"

func TestParse(t *testing.T) {
	all, err := Parse("page.md", "# One\n\n- item\n\n      more of it\n\n## Two\n```sh now\na\n\n  b\n```\n  ```json\n  {}\n  ```\n")
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if want := (Block{Page: "page.md", Heading: "Two", Line: 8, Language: "sh", Note: "now", Text: "a\n\n  b\n"}); all[0] != want {
		t.Errorf("%+v", all[0])
	}
	if all[1].Text != "{}\n" || all[1].Language != "json" {
		t.Errorf("%+v", all[1])
	}
	for _, wrong := range []string{"```\na\n```\n", "```sh\na\n", "text\n\n    indented\n"} {
		if all, err := Parse("page.md", wrong); err == nil {
			t.Errorf("%q: %+v", wrong, all)
		}
	}
}
