package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// setting is one environment variable of the service.
type setting struct {
	name, fallback, doc string
}

// The settings, in the order in which help lists them.
var settingTable = []setting{
	{"SVC_OPERATOR_PUBLIC_KEY", "", "the operator's Ed25519 public key, unpadded base64url; required"},
	{"WARRANTY_PATH", "config/warranty.md", "the signed policy"},
	{"SVC_MODE", "", "OBSERVE approves what the policy would deny, and records it; anything else enforces"},
	{"SVC_ENV", "production", "production or test: which API keys are accepted"},
	{"SVC_LISTEN", "127.0.0.1:8787", "address and port to serve on"},
	{"SVC_DATA_DIR", "data", "folder of everything that is kept; made if missing"},
	{"SVC_KEY_DIR", "SVC_DATA_DIR/keys", "folder of the signing keys; made at the first start"},
	{"SVC_ISSUER", "svc-core", "the claim iss of attestations"},
	{"SVC_INTEGER_AMOUNTS", "decimal", "base reads amounts without a point as base units, for hook clients that send them so"},
}

// laterSettings are variables of the specification that this build does not know how to obey. One that is
// set, other than to 0 or false, stops the start: running without the limit that somebody asked for would be worse
// than not running.
var laterSettings = []string{
	"SVC_HOSTED", "SVC_RATE_LIMIT_", "SVC_TRUSTED_PROXIES", "SVC_TRUSTED_SHIMS", "SVC_WEBHOOK_ALLOW_PRIVATE",
	"SVC_REFUSE_ROLLBACK", "SVC_RPC_URL_", "SVC_BUNDLER_URL_",
}

// settings are the environment as the service reads it.
type settings map[string]string

// readSettings takes the settings out of an environment of NAME=value, and refuses those that it can't obey.
func readSettings(environ []string) (settings, error) {
	s := settings{}
	for _, row := range settingTable {
		s[row.name] = row.fallback
	}
	s["SVC_KEY_DIR"] = ""
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		later := slices.ContainsFunc(laterSettings, func(later string) bool { return strings.HasPrefix(name, later) })
		if later && value != "" && value != "0" && value != "false" {
			return nil, fmt.Errorf("%s is set, and this build does not support it; unset it", name)
		}
		if _, known := s[name]; known && value != "" {
			s[name] = value
		}
	}
	if s["SVC_KEY_DIR"] == "" {
		s["SVC_KEY_DIR"] = filepath.Join(s["SVC_DATA_DIR"], "keys")
	}
	return s, s.check()
}

// check refuses a value that is none of the few that a setting has.
func (s settings) check() error {
	for name, values := range map[string][]string{
		"SVC_ENV":             {"production", "test"},
		"SVC_INTEGER_AMOUNTS": {"decimal", "base"},
	} {
		if !slices.Contains(values, s[name]) {
			return fmt.Errorf("%s is %q; it can be %s", name, s[name], strings.Join(values, " or "))
		}
	}
	return nil
}

// unknownSettings returns the names in environ that look like settings and are none: most likely misspelt.
func unknownSettings(environ []string) (names []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		known := slices.ContainsFunc(settingTable, func(row setting) bool { return row.name == name }) ||
			slices.ContainsFunc(laterSettings, func(later string) bool { return strings.HasPrefix(name, later) })
		if strings.HasPrefix(name, "SVC_") && !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// settingsHelp is the table as help prints it.
func settingsHelp() string {
	var text strings.Builder
	text.WriteString("The service is set up by environment variables:\n\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range settingTable {
		fallback := ""
		if row.fallback != "" {
			fallback = " (default " + row.fallback + ")"
		}
		fmt.Fprintf(table, "  %s\t%s%s\n", row.name, row.doc, fallback)
	}
	table.Flush()
	text.WriteString("\nGOMAXPROCS and GOGC work as ever; without them the service uses twice the processors, and 800.\n")
	text.WriteString("\nOf the specification's settings this version does not support these, and refuses to start where one is set:\n")
	text.WriteString("  " + strings.Join(laterSettings, ", ") + "\n")
	return text.String()
}

// ledgerPath and adminSocket are where things lie below the data folder.
func (s settings) ledgerPath() string  { return filepath.Join(s["SVC_DATA_DIR"], "ledger") }
func (s settings) adminSocket() string { return filepath.Join(s["SVC_DATA_DIR"], "admin.sock") }
