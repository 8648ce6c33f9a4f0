package hook

// Commands are the commands for coding agents. Their doc texts are the help.
type Commands struct {
	Hook hookCommand `cmd:"" help:"Run between a coding agent and its tools."`
}
