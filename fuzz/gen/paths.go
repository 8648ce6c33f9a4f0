package gen

import (
	"slices"
	"strings"
)

// Files makes of a request one of a file tool that names several paths, and those that name one of them each, as `path`
// and as a list of one. Nothing else differs.
func (w *Writer) Files(r *Rand, body *Node) (several *Node, single, listed []*Node) {
	w.r, w.slips, w.lower = r, 25, One(r, fileTools)
	several = body.Clone()
	several.drop("action")
	intent := several.member("intent")
	if intent == nil || intent.Kids == nil || intent.List {
		return nil, nil, nil
	}
	for _, name := range []string{"action", "path", "paths", "url", "host", "query", "method"} {
		intent.drop(name)
	}
	intent.text("action", w.lower)
	var paths []*Node
	for range 2 + r.N(3) {
		paths = append(paths, &Node{Raw: Quote(w.anyPath())})
	}
	with := func(field *Node) *Node {
		request := several.Clone()
		request.member("intent").Kids = append(request.member("intent").Kids, field)
		return request
	}
	for _, path := range paths {
		single = append(single, with(&Node{Name: "path", Raw: path.Raw}))
		listed = append(listed, with(&Node{Name: "paths", List: true, Kids: []*Node{{Raw: path.Raw}}}))
	}
	return with(&Node{Name: "paths", List: true, Kids: paths}), single, listed
}

// anyPath returns a path that a rule about paths is about, or any.
func (w *Writer) anyPath() string {
	rules := slices.DeleteFunc(slices.Concat(w.lore.allowances, w.lore.denials), func(rule rule) bool { return rule.path != "path" && rule.path != "" })
	if len(rules) == 0 || w.r.Chance(50) {
		return w.path()
	}
	return strings.ReplaceAll(w.near(One(w.r, rules)), "\x00", "")
}
