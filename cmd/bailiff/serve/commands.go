package serve

// Commands are the commands that run the service. Their doc texts are the help.
type Commands struct {
	Serve      serveCommand      `cmd:"" help:"Run the service."`
	Quickstart quickstartCommand `cmd:"" help:"Make the keys and files that a first run needs, then serve."`
	Clock      clockCommand      `cmd:"" help:"Confirm the clock of a service that doubts it."`
}
