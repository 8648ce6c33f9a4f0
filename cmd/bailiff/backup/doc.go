// Package backup has the commands that copy the event log of a service while it runs, and make the data folder of a service from
// such a copy (specification, "Backup").
package backup

// Commands are the commands. Their doc texts are the help.
type Commands struct {
	Backup  backupCommand  `cmd:"" help:"Copy the record into a folder; the service may run."`
	Restore restoreCommand `cmd:"" help:"Make the data of a service from a backup, or verify one."`
}
