// Package mcpproxy is a proxy between an MCP client and one MCP server. It asks Bailiff about every request of the client
// that can read or act, and forwards only what was allowed. The table of methods is in methods.go.
//
// A Guard judges messages and knows no transport; ServeStdio runs a server as a child process, and NewHandler is a
// streamable HTTP listener in front of one. Both serve the revisions 2025-11-25 and 2026-07-28.
//
// What callers may rely on:
//
//   - Nothing of the client reaches the server before it was judged or the table of methods says that it passes
//     unjudged. A method that the table does not have is refused.
//   - What is forwarded is byte for byte what was judged. The one exception is the retry of a held call, from which the
//     proxy takes out its own requestState and inputResponses.
//   - A message that two readers could read differently is refused: batches, names that come twice or differ in case
//     only, unknown members of the envelope, invalid UTF-8.
//   - A server's answer to a judged request reaches the client only as the response rules show it; parts that they do not touch
//     arrive byte for byte.
//   - A failure of the service, of the pins or of the response rules is a refusal, unless FailOpen says otherwise for a
//     service that cannot be reached and a tool whose pin was read before. The result then says that no policy decided.
//   - No tool is called whose definition is not the one that is accepted under the API key.
//   - A server's request to the client is refused unless AllowServerRequests is set, and an answer to a request that was
//     not forwarded is dropped.
package mcpproxy
