package strict

import (
	"fmt"
	"log/slog"
	"strings"
)

// Logger passes on what fasthttp reports, except errors of single connections: any client could fill the log with these, and
// they repeat what the client sent.
type Logger struct{ Log *slog.Logger }

// ofConnection begins what fasthttp says of a single connection.
const ofConnection = "error when serving connection"

// Printf implements fasthttp.Logger.
func (l Logger) Printf(format string, arguments ...any) {
	if strings.HasPrefix(format, ofConnection) {
		return
	}
	l.Log.Warn("http", "message", fmt.Sprintf(format, arguments...))
}
