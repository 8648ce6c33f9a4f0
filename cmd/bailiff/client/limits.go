package client

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/decision"
)

type limitsCommand struct {
	ApiFlags
	KeyID string `arg:"" optional:"" name:"key" help:"The id of the key, without an API key: of any key of the service that runs here." placeholder:"KEY"`
	JSON  bool   `name:"json" help:"Print JSON, in the form of GET /v1/limits."`
}

// Help says what is shown.
func (c *limitsCommand) Help() string {
	return `What the next decision will find: for each limit of the key's policy, how much is used, how much is left, and when it
starts from zero again. A limit that counts tasks or other values apart has a line for each that is in use, most used first, at most
100. With an API key, that key's limits, from the service at --url; else those of KEY, from the service that runs on SVC_DATA_DIR.`
}

// Run prints the limits.
func (c *limitsCommand) Run(std cli.Streams) error {
	if c.Given() {
		if c.KeyID != "" {
			return cli.Usage("KEY goes without an API key, whose limits are its own anyway")
		}
		service, err := c.Client(std)
		if err != nil {
			return err
		}
		view := new(decision.LimitsView)
		if err := service.Call(context.Background(), "GET", "/v1/limits", nil, view); err != nil {
			return err
		}
		return c.print(std.Out, view)
	}
	if c.KeyID == "" {
		return cli.Usage("name a key by its id (bailiff keys list), or give an API key")
	}
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
		view, err := a.Limits(ctx, c.KeyID)
		if err != nil {
			return err
		}
		return c.print(std.Out, view)
	})
}

func (c *limitsCommand) print(w io.Writer, view *decision.LimitsView) error {
	if c.JSON {
		return cli.PrintJSON(w, view)
	}
	var rows []string
	more := false
	for i := range view.Limits {
		rows = append(rows, limitRows(&view.Limits[i])...)
		more = more || view.Limits[i].MoreGroups
	}
	if len(rows) == 0 {
		return printLine(w, "no rule of the policy counts anything")
	}
	if err := cli.PrintTable(w, "RULE\tLINE\tWINDOW\tGROUP\tUSED\tLEFT\tLIMIT\tRESETS", rows, func(row string) string { return row }); err != nil {
		return err
	}
	if more {
		return printLine(w, "there may be more groups in use than are listed")
	}
	return nil
}

// limitRows are the lines of a limit: one, or one for each group.
func limitRows(limit *decision.LimitView) (rows []string) {
	row := func(group, used, left string) {
		name := limit.Rule
		if limit.Counter != "" {
			name = limit.Counter
		}
		rows = append(rows, strings.Join([]string{
			name, strconv.Itoa(limit.Line), limit.Window, group, used, left, strings.TrimSpace(limit.Limit + " " + limit.Unit), resets(limit),
		}, "\t"))
	}
	switch {
	case len(limit.GroupBy) == 0:
		row("", limit.Used, limit.Left)
	case len(limit.Groups) == 0:
		row("each "+strings.Join(limit.GroupBy, ", "), "0", limit.Limit)
	}
	for _, group := range limit.Groups {
		row(strings.ReplaceAll(strings.Join(group.Group, ", "), "\t", " "), group.Used, group.Left)
	}
	return rows
}

// resets says when a limit starts from zero again.
func resets(limit *decision.LimitView) string {
	if limit.ResetsAt.IsZero() {
		return "30 days after the last use"
	}
	return limit.ResetsAt.Format(time.RFC3339)
}
