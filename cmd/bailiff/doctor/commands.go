package doctor

// DoctorCommands are the commands that examine a service. Their doc texts are the help.
type DoctorCommands struct {
	Doctor DoctorCommand `cmd:"" help:"Say what is wrong with how a service is set up."`
}
