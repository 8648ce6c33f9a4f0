package client

import (
	"context"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"bailiff/cmd/bailiff/cli"
	"bailiff/runtime/accounts"
)

type usageCommand struct {
	Format string `default:"table" enum:"table,json,csv" help:"${enum} (${default})." placeholder:"FORMAT"`
	Month  string `help:"The UTC month, as 2026-11; the current one without." placeholder:"YYYY-MM"`
}

// Help says what is counted.
func (c *usageCommand) Help() string {
	return `The governed actions (ALLOWED decisions) of a month per key, and what a hosted service would bill for them.
Works on the service that runs on SVC_DATA_DIR (default: data) or, where none does, on the data there. In csv a cell that
begins as a formula does (an e-mail address may) has a ' in front, so that no spreadsheet runs it; json has it as it is.`
}

// usageHeading names the columns, in CSV as in JSON.
var usageHeading = []string{"key_id", "email", "environment", "plan", "month", "allowed", "included", "overage", "fee_usd", "overage_usd", "amount_usd"}

// Run prints the month.
func (c *usageCommand) Run(std cli.Streams) error {
	return WithAdmin(std, MustExist, func(ctx context.Context, a Admin) error {
		views, err := a.Usage(ctx, c.Month)
		if err != nil {
			return err
		}
		switch c.Format {
		case "json":
			return cli.PrintJSON(std.Out, views)
		case "csv":
			return printUsageCSV(std.Out, views)
		}
		return cli.PrintTable(std.Out, strings.ToUpper(strings.Join(usageHeading, "\t")), views, func(v accounts.UsageView) string {
			return strings.Join(usageRow(&v), "\t")
		})
	})
}

// usageRow is a key's month in columns.
func usageRow(v *accounts.UsageView) []string {
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return []string{
		v.KeyID, v.Email, v.Environment, v.Plan, v.Month, number(v.Allowed), number(v.Included), number(v.Overage),
		v.FeeUSD, v.OverageUSD, v.AmountUSD,
	}
}

// printUsageCSV prints the months as RFC 4180 has it.
func printUsageCSV(w io.Writer, views []accounts.UsageView) error {
	table := csv.NewWriter(w)
	if err := table.Write(usageHeading); err != nil {
		return err
	}
	for i := range views {
		row := usageRow(&views[i])
		for j := range row {
			row[j] = noFormula(row[j])
		}
		if err := table.Write(row); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}

// formulas begin what a spreadsheet runs as a formula; the wide ones do where East Asian languages are set.
const formulas = "=+-@\t\r＝＋－＠"

// noFormula returns a cell that a spreadsheet takes for the text it is: the holder of a key chose its e-mail address.
func noFormula(cell string) string {
	if first, _ := utf8.DecodeRuneInString(cell); cell != "" && strings.ContainsRune(formulas, first) {
		return "'" + cell
	}
	return cell
}
