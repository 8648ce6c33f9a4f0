package main

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"bailiff/runtime/authority"
)

type usageCommand struct {
	Format string `default:"table" enum:"table,json,csv" help:"${enum} (${default})." placeholder:"FORMAT"`
	Month  string `help:"The UTC month, as 2026-11; the current one without." placeholder:"YYYY-MM"`
}

// Help says what is counted.
func (c *usageCommand) Help() string {
	return `The governed actions (ALLOWED decisions) of a month per key, and what a hosted service would bill for them.
Works on the service that runs on SVC_DATA_DIR (default: data) or, where none does, on the data there.`
}

// usageHeading names the columns, in CSV as in JSON.
var usageHeading = []string{"key_id", "email", "environment", "plan", "month", "allowed", "included", "overage", "fee_usd", "overage_usd", "amount_usd"}

// Run prints the month.
func (c *usageCommand) Run(std streams) error {
	return withAdmin(std, mustExist, func(ctx context.Context, a admin) error {
		views, err := a.Usage(ctx, c.Month)
		if err != nil {
			return err
		}
		switch c.Format {
		case "json":
			return printJSON(std.out, views)
		case "csv":
			return printUsageCSV(std.out, views)
		}
		return printTable(std.out, strings.ToUpper(strings.Join(usageHeading, "\t")), views, func(v authority.UsageView) string {
			return strings.Join(usageRow(&v), "\t")
		})
	})
}

// usageRow is a key's month in columns.
func usageRow(v *authority.UsageView) []string {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return []string{
		v.KeyID, v.Email, v.Environment, v.Plan, v.Month, number(v.Allowed), number(v.Included), number(v.Overage),
		v.FeeUSD, v.OverageUSD, v.AmountUSD,
	}
}

// printUsageCSV prints the months as RFC 4180 has it. What a spreadsheet would take for a formula is made a text.
func printUsageCSV(w io.Writer, views []authority.UsageView) error {
	table := csv.NewWriter(w)
	if err := table.Write(usageHeading); err != nil {
		return err
	}
	for i := range views {
		row := usageRow(&views[i])
		for j, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				row[j] = "'" + cell
			}
		}
		if err := table.Write(row); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}
