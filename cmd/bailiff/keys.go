package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"bailiff/runtime/authority"
)

type keysCommand struct {
	Create keysCreateCommand `cmd:"" help:"Create an API key; it is shown once."`
	List   keysListCommand   `cmd:"" help:"List the API keys."`
	Revoke keysRevokeCommand `cmd:"" help:"Revoke an API key."`
}

// Help says which keys the subcommands work on.
func (c *keysCommand) Help() string {
	return "Works on the service that runs on SVC_DATA_DIR (default: data) or, where none does, on the data there. New keys belong to the environment SVC_ENV."
}

type keysCreateCommand struct {
	Email string   `required:"" help:"The account that the key belongs to." placeholder:"ADDRESS"`
	Scope []string `help:"A scope: authorize (the default), warranty:deploy, webhooks:write. Can be given more than once." placeholder:"SCOPE"`
	Shim  bool     `help:"The key belongs to a trusted shim: its metadata counts as attested."`
	JSON  bool     `name:"json" help:"Print JSON, with the key as api_key."`
}

// Run makes a key and prints it, the only time.
func (c *keysCreateCommand) Run(std streams) error {
	return withAdmin(std, mayCreate, func(ctx context.Context, a admin) error {
		key, err := a.CreateKey(ctx, authority.NewKey{Email: c.Email, Scopes: c.Scope, Shim: c.Shim})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(std.out, key)
		}
		fmt.Fprintln(std.out, key.APIKey)
		fmt.Fprintf(std.err, "key %s of %s with scopes %s; it is not shown again\n", key.ID, key.Email, strings.Join(key.Scopes, ", "))
		return nil
	})
}

type keysListCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists the keys, without their secrets.
func (c *keysListCommand) Run(std streams) error {
	return withAdmin(std, mustExist, func(ctx context.Context, a admin) error {
		keys, err := a.Keys(ctx)
		if err != nil || c.JSON {
			return orPrint(std.out, keys, err)
		}
		return printTable(std.out, "ID\tEMAIL\tSCOPES\tENVIRONMENT\tPROVENANCE\tCREATED\tREVOKED", keys, func(k authority.KeyView) string {
			revoked := "-"
			if !k.RevokedAt.IsZero() {
				revoked = k.RevokedAt.Format(time.RFC3339)
			}
			return strings.Join([]string{k.ID, k.Email, strings.Join(k.Scopes, ","), k.Environment, k.Provenance, k.CreatedAt.Format(time.RFC3339), revoked}, "\t")
		})
	})
}

type keysRevokeCommand struct {
	ID string `arg:"" help:"The key's id, as keys list shows it."`
}

// Run revokes the key: from now on it answers 401, and decisions under way under it come to nothing.
func (c *keysRevokeCommand) Run(std streams) error {
	return withAdmin(std, mustExist, func(ctx context.Context, a admin) error {
		key, err := a.RevokeKey(ctx, c.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.out, "revoked %s of %s\n", key.ID, key.Email)
		return nil
	})
}

type holdsCommand struct {
	List holdsListCommand `cmd:"" help:"List the holds that have not expired."`
}

type holdsListCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists the holds of all keys.
func (c *holdsListCommand) Run(std streams) error {
	return withAdmin(std, mustExist, func(ctx context.Context, a admin) error {
		holds, err := a.Holds(ctx)
		if err != nil || c.JSON {
			return orPrint(std.out, holds, err)
		}
		return printTable(std.out, "HOLD\tSTATUS\tACTION\tAGENT\tRULE\tCREATED\tEXPIRES", holds, func(h authority.HoldView) string {
			return strings.Join([]string{h.HoldID, h.Status, h.Method, h.AgentID, h.PolicyRule, h.CreatedAt.Format(time.RFC3339), h.ExpiresAt.Format(time.RFC3339)}, "\t")
		})
	})
}

// orPrint prints a value as JSON unless there is an error.
func orPrint(w io.Writer, value any, err error) error {
	if err != nil {
		return err
	}
	return printJSON(w, value)
}

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printTable prints a heading and a line for each row, in columns.
func printTable[T any](w io.Writer, heading string, rows []T, line func(T) string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, heading)
	for _, row := range rows {
		fmt.Fprintln(table, strings.Map(oneLine, line(row)))
	}
	return table.Flush()
}

// oneLine keeps what an agent chose from steering the terminal.
func oneLine(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return '?'
	}
	return r
}
