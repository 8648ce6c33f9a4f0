package intent

import (
	"math/rand"
	"strings"
)

func oneOf[T any](rng *rand.Rand, values ...T) T { return values[rng.Intn(len(values))] }

// randomEvidence returns metadata that is well-formed more often than not.
func randomEvidence(rng *rand.Rand) object {
	files := object{"effects": randomEffects(rng)}
	targets := []any{}
	for range rng.Intn(4) {
		targets = append(targets, randomTarget(rng))
	}
	files["targets"] = targets
	execution := object{"race_safe_path_resolution": rng.Intn(12) > 0}
	for _, name := range []string{writableRoots, readableRoots} {
		if rng.Intn(12) > 0 {
			execution[name] = randomRoots(rng)
		}
	}
	git := object{"repository_id": oneOf[any](rng, "r", "r", "r", "", nil), "worktree": randomPath(rng)}
	return object{"filesystem": files, "execution": execution, "git": git}
}

func randomEffects(rng *rand.Rand) any {
	effects := []any{}
	for range rng.Intn(3) + 1 {
		effects = append(effects, oneOf[any](rng, "read", "create", "overwrite", "append", "truncate", "delete", "rename", "copy",
			"hard_link", "chmod", "execute", "egress"))
	}
	if rng.Intn(20) == 0 {
		effects = append(effects, oneOf[any](rng, "fly", 1, nil))
	}
	return effects
}

// randomPath makes paths of few names, so that many are alike.
func randomPath(rng *rand.Rand) string {
	var path strings.Builder
	for range rng.Intn(4) + 1 {
		path.WriteString("/" + oneOf(rng, "a", "a", "a", "b", "ab", "A", "a-b", "a.b", "a b", ".git", ".GIT.", "git~1", "\u00e9", "\U0001f602"))
	}
	if rng.Intn(40) == 0 {
		path.WriteString(oneOf(rng, "/", "/.", "/..", "\\", "//a", "\x7f"))
	}
	return path.String()
}

func randomRoots(rng *rand.Rand) any {
	roots := []any{}
	for range rng.Intn(5) {
		roots = append(roots, randomPath(rng))
	}
	switch rng.Intn(25) {
	case 0:
		return append(roots, "/")
	case 1:
		return append(roots, oneOf[any](rng, ".", nil, 7, "a"))
	case 2:
		return "/a"
	}
	return roots
}

func randomTarget(rng *rand.Rand) any {
	target := object{"absolute": randomPath(rng), "resolved_parent": oneOf(rng, randomPath(rng), "/"),
		"bytes": oneOf[any](rng, 0, 1, 7, 1<<53-1), "classification": oneOf(rng, "source", "Secret")}
	if at := strings.LastIndexByte(target["absolute"].(string), '/'); at > 0 && rng.Intn(2) == 0 {
		target["resolved_parent"] = target["absolute"].(string)[:at]
	}
	if rng.Intn(20) == 0 {
		name := oneOf(rng, "absolute", "resolved_parent", "bytes", "classification")
		target[name] = oneOf[any](rng, nil, 7.5, "", -1, []any{"/a"})
	}
	if rng.Intn(40) == 0 {
		return oneOf[any](rng, nil, "/a", []any{})
	}
	return target
}
