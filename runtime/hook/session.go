package hook

// maxRequestID is how long an id of a request is that events keep.
const maxRequestID = 64

// RequestID is the id under which events have the calls of a task, which is the session unless the task is configured: the
// first 64 characters of its id.
func RequestID(task string) string { return task[:min(len(task), maxRequestID)] }
