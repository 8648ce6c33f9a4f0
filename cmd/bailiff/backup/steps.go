package backup

// A step is a point in a backup or a restoration after which something of it is on the disk. The tests have the command fail there, and
// have it killed there.
type step string

// The steps, in their order.
const (
	backupFolder     step = "backup: the folder is made"
	backupLog        step = "backup: the record is copied"
	backupCheckpoint step = "backup: the checkpoint is written"
	backupFiles      step = "backup: the policy and the keys are written"
	backupNamed      step = "backup: the folder has its name"

	restoreKeys     step = "restore: the signing keys are in their place"
	restoreFolder   step = "restore: the folder of the record is made"
	restoreFilled   step = "restore: the record is verified and written"
	restoreFinished step = "restore: the record is closed"
	restoreAside    step = "restore: the checkpoint of before is put aside"
	restoreNamed    step = "restore: the record has its name"
)

// steps are all of them.
var steps = []step{
	backupFolder, backupLog, backupCheckpoint, backupFiles, backupNamed,
	restoreKeys, restoreFolder, restoreFilled, restoreFinished, restoreAside, restoreNamed,
}

// reached is called at each step, and fails there what it returns an error for. Tests replace it.
var reached = func(step) error { return nil }
