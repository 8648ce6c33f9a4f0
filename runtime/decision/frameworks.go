package decision

import (
	"log/slog"
	"slices"
	"sync"
)

// knownFrameworks are the values of `framework` that are not worth a warning: those of agents, and of the clients of the gateways.
var knownFrameworks = []string{"agent-hooks", "autogen", "bailiff-cli", "claude-code", "codex", "crewai", "cursor", "custom", "eliza", "ethers", "gemini-cli", "langchain", "langgraph", "mcp", "openai-agents", "vercel-ai", "viem", "wagmi", "web3-py"}

// maxWarned bounds how many unknown frameworks are remembered, because clients choose the names.
const maxWarned = 256

// frameworks warns of each unknown framework once (specification, "Intent": unknown values are accepted).
type frameworks struct {
	mu     sync.RWMutex
	warned map[string]bool
}

func (f *frameworks) warn(log *slog.Logger, name string) {
	if slices.Contains(knownFrameworks, name) {
		return
	}
	f.mu.RLock()
	seen := f.warned[name] || len(f.warned) >= maxWarned
	f.mu.RUnlock()
	if seen {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.warned == nil {
		f.warned = map[string]bool{}
	}
	if name = string([]byte(name)); !f.warned[name] { // the request's memory is used again
		f.warned[name] = true
		log.Warn("unknown framework", "framework", name)
	}
}
