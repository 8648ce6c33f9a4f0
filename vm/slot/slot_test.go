package slot

import (
	"testing"

	"bailiff/vm/form"
)

// TestAt finds the rows of paths.
func TestAt(t *testing.T) {
	for path, want := range map[string]form.Form{"token": form.Token, "metadata.serverId": form.Text, "metadata.path": form.Text, "arguments.to": form.Text, "to": form.Text, "calldata": form.Hex} {
		if got := At(path).Form; got != want {
			t.Errorf("%s has form %s", path, got)
		}
	}
	for path, want := range map[string]string{
		"metadata.arguments.x": "arguments.x", "metadata.arguments": "arguments", "metadata.argumentsx": "metadata.argumentsx", "arguments.x": "arguments.x",
	} {
		if got := Canonical(path); got != want {
			t.Errorf("%s is %s", path, got)
		}
	}
	for _, form := range form.Forms() {
		if form.String() == "" {
			t.Errorf("form %d has no name", form)
		}
	}
	for i, row := range Ruled() {
		if Find(row.Name) != row.Field || (row.When == Never) != (row.Other == form.Text) {
			t.Errorf("row %d is incomplete or repeated: %+v", i, row)
		}
	}
}
