package doctor

// Commands are the commands that examine a service. Their doc texts are the help.
type Commands struct {
	Doctor Command `cmd:"" help:"Find mistakes in the setup of a service."`
}
