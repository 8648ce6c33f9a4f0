package compiler

// mcpKeys are the keys of `## mcp`.
var mcpKeys = []Key{}
