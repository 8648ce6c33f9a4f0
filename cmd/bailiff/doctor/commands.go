package doctor

// Commands are the commands that examine a service. Their doc texts are the help.
type Commands struct {
	Doctor Command `cmd:"" help:"Say what is wrong with how a service is set up."`
}
