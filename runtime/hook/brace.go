package hook

import (
	"slices"
	"strings"
)

// expandAll returns texts and what the braces in them expand to, each once.
func expandAll(texts []string) ([]string, error) {
	var all []string
	size := 0
	for queue := slices.Clone(texts); len(queue) > 0; queue = queue[1:] {
		text := queue[0]
		if slices.Contains(all, text) {
			continue
		}
		if size += len(text); size > maxPathBytes {
			return nil, tooLong()
		}
		if all = append(all, text); len(all) > maxPaths {
			return nil, tooMany(len(all))
		}
		more, err := expand(text)
		if err != nil {
			return nil, err
		}
		queue = append(queue, more...)
	}
	return all, nil
}

// expand returns what the first pair of braces without others in it means: one text for each of its alternatives, nil
// where there is none. Readers differ in what a pair without a comma is; here it is its content.
func expand(text string) (texts []string, err error) {
	start, end := -1, -1
	for i := 0; i < len(text) && end < 0; i++ {
		switch {
		case text[i] == '{':
			start = i
		case text[i] == '}' && start >= 0:
			end = i
		}
	}
	if end < 0 {
		return nil, nil
	}
	size := 0
	for alternative := range strings.SplitSeq(text[start+1:end], ",") {
		expanded := text[:start] + alternative + text[end+1:]
		if size += len(expanded); size > maxPathBytes {
			return nil, tooLong()
		}
		if texts = append(texts, expanded); len(texts) > maxPaths {
			return nil, tooMany(len(texts))
		}
	}
	return texts, nil
}
