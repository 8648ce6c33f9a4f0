package client

// Commands are the commands that talk to a service. Their doc texts are the help.
type Commands struct {
	Keys      keysCommand      `cmd:"" help:"Create, list, change and revoke API keys."`
	Freeze    freezeCommand    `cmd:"" help:"Stop the service: nothing is allowed until it is thawed."`
	Thaw      thawCommand      `cmd:"" help:"Let a frozen service go on, with the operator's signature."`
	Operator  operatorCommand  `cmd:"" help:"Show and replace the operator's key."`
	Usage     usageCommand     `cmd:"" help:"Print a month's governed actions per key, and what they would be billed."`
	Deploy    deployCommand    `cmd:"" help:"Bind a signed policy to an API key."`
	Holds     holdsCommand     `cmd:"" help:"List, show, approve and deny holds."`
	Approvers approversCommand `cmd:"" help:"Say who decides holds with a passkey."`
	Webhooks  webhooksCommand  `cmd:"" help:"Register webhooks, and receive their deliveries."`
	Events    eventsCommand    `cmd:"" help:"Print the events of an API key, or verify the whole record."`
	Console   consoleCommand   `cmd:"" help:"Open the console of all keys, which the service that runs here has."`
	Limits    limitsCommand    `cmd:"" help:"Print the use of each limit of an API key, and how much is left."`
	Send      sendCommand      `cmd:"" help:"Authorize a signed transaction and submit it."`
	Attest    attestCommand    `cmd:"" help:"Work with attestations."`
	MCPProxy  mcpProxyCommand  `cmd:"" name:"mcp-proxy" help:"Run a proxy between an MCP client and a server that lets through the calls which the policy allows."`
	MCP       mcpCommand       `cmd:"" name:"mcp" help:"Look at the tools that mcp-proxy has pinned, and accept those that changed."`
}
