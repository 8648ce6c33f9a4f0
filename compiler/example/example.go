// Package example completes a few lines to a small policy, for the examples in the diagnostics' reference and for tests. There is a
// function for each section: it puts what the section requires around the lines that the example is about.
package example

// EVM is a policy with a section `evm`.
func EVM(lines string) string {
	return "version: 2.0.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\n" + ended(lines)
}

// Fees is [EVM] in version 2.4, which can limit fees.
func Fees(lines string) string {
	return "version: 2.4.0\n## evm\nallowed_chains: 1\nallowed_actions: wallet.transfer\nmax_transaction_eth: 1\nmax_fee_eth: 0.01\n" + ended(lines)
}

// Tools is a policy with a section `tool_calls`.
func Tools(lines string) string {
	return "version: 2.0.0\n## tool_calls\nallowed: bash\n" + ended(lines)
}

// Deployment is a policy with a section `deployment`.
func Deployment(lines string) string {
	return "version: 2.4.0\n## tool_calls\nallowed: bash\n## deployment\n" + ended(lines)
}

// Custom is a policy with a section `custom`.
func Custom(lines string) string { return "version: 2.0.0\n## custom\n" + ended(lines) }

// MCP is a policy with a section `mcp`.
func MCP(lines string) string {
	return "version: 2.0.0\n## mcp\nallowed_servers: files\n" + ended(lines)
}

// SoftLimits is a policy with a section `soft_limits`.
func SoftLimits(lines string) string { return Tools("## soft_limits\n" + lines) }

// Response is a policy with response rules in its section `mcp`.
func Response(lines string) string {
	return "version: 2.3.0\n## mcp\nallowed_tools: api.call\nresponse.http_tools: api.call\nresponse.deterministic_ruleset: sof-response-rules-v1\n" + ended(lines)
}

// ended returns lines with the end of the last one.
func ended(lines string) string {
	if lines == "" {
		return ""
	}
	return lines + "\n"
}

// Repository is a policy with a section `repository`.
func Repository(lines string) string {
	return "version: 2.1.0\n## repository\n" + lines + "\nrequire_shim: true\n"
}

// Filesystem is a policy with a section `filesystem`.
func Filesystem(lines string) string {
	return "version: 2.1.0\n## filesystem\nactions: file.*\n" + lines + "\nrequire_shim: true\n"
}

// Git is a policy with a section `git`.
func Git(lines string) string {
	return "version: 2.1.0\n## git\nactions: git.*\n" + lines + "\nrequire_shim: true\n"
}

// Database is a policy with a section `database`.
func Database(lines string) string {
	return "version: 2.1.0\n## database\nactions: db.*\n" + lines + "\nrequire_shim: true\n"
}
