package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/mask"
)

// TestMaskedLog: no credential of the table gets into the log, of either form, as a message, a text, an error or a list.
func TestMaskedLog(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		s := &cmdsettings.Settings{LogFormat: format}
		for _, kind := range mask.Table() {
			var out bytes.Buffer
			log := serviceLog(cli.Streams{Err: &out}, s, s.LogLevel, nil)
			log.Error(kind.Example, "text", kind.Example, "error", errors.New(kind.Example), "list", []string{kind.Example})
			if n := strings.Count(out.String(), mask.Hidden); n != 4 {
				t.Errorf("%s, %s: %d of 4 are masked in %s", format, kind.Name, n, out.String())
			}
		}
	}
	var out bytes.Buffer
	serviceLog(cli.Streams{Err: &out}, new(cmdsettings.Settings), slog.LevelInfo, []string{"SVC_MISSPELT=1"})
	if !strings.Contains(out.String(), `level=WARN msg="unknown setting is ignored" name=SVC_MISSPELT`) {
		t.Errorf("the log is %s", out.String())
	}
}
