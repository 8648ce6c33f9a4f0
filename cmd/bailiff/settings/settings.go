package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
)

// Setting is one environment variable of the service. A name that ends in chainSuffix means one of each chain.
type Setting struct {
	Name, Fallback, doc string
	check               func(value string) error // of a value that is set; nil where any will do
}

// chainSuffix ends the names of settings that exist once for each chain.
const chainSuffix = "<chainId>"

// Table has the settings, in the order in which help lists them.
var Table = []Setting{
	{"SVC_HOSTED", "false", "true: no boot policy, open registration, plans with quotas, rate limits; else self-hosted", isBool},
	{"SVC_OPERATOR_PUBLIC_KEY", "", "the operator's Ed25519 public key, unpadded base64url; required when self-hosted", nil},
	{"WARRANTY_PATH", "config/warranty.md", "the signed policy; self-hosted only", nil},
	{"SVC_MODE", "", "OBSERVE approves what the policy would deny, and records it; anything else enforces", isMode},
	{"SVC_ENV", "production", "production or test: which API keys are accepted", oneOf("production", "test")},
	{"SVC_LISTEN", "127.0.0.1:8787", "address and port of the API", isAddress},
	{"SVC_LISTEN_UNIX", "", "path of a Unix socket on which the API is served as well, for agents on this machine", isSocketPath},
	{"SVC_LISTEN_UNIX_MODE", "0600", "mode of that socket: 0600 for the service's user, 0660 for its group too, 0666 for all users of the machine", oneOf(socketModes...)},
	{"SVC_ADMIN_LISTEN", AdminListenDefault, "address and port of metrics and readiness (no keys asked); off for none", isAddressOrOff},
	{"SVC_PPROF_LISTEN", "off", "address and port of profiles (no keys asked), on this machine; off for none", isAddressOrOff},
	{"SVC_PPROF_REMOTE", "false", "true lets SVC_PPROF_LISTEN be an address that other machines reach; profiles show memory, API keys included", isBool},
	{"SVC_LOG_FORMAT", "text", "form of the log's lines on standard error: text (logfmt) or json, one object a line", oneOf("text", "json")},
	{"SVC_LOG_LEVEL", "info", "the least severe lines that the log has: debug, info, warn or error", oneOf("debug", "info", "warn", "error")},
	{"SVC_CONSOLE", "true", "false switches the console at /console of the API's address off; it answers over TLS and on this machine only", isBool},
	{"SVC_CONSOLE_LISTEN", "off", "loopback address and port of the operator's console of all keys, which bailiff console opens; off for none", isLoopbackOrOff},
	{"SVC_PUBLIC_URL", "", "where clients reach the API, for documents and activations (default http:// and SVC_LISTEN, where that names one address)", isBaseURL},
	{"SVC_CONTACT", "", "how to reach who runs the service (an e-mail or web address), for the conformance descriptor", isContact},
	{"SVC_TRUSTED_PROXIES", "", "networks (CIDR, comma-separated) whose X-Forwarded-For names the client", isPrefixes},
	{"SVC_DATA_DIR", "data", "folder of everything that is kept; made if missing", nil},
	{"SVC_KEY_DIR", "SVC_DATA_DIR/keys", "folder of the signing keys; made at the first start", nil},
	{"SVC_SIGNING_KEY_FILE", "", "file of the signing keys, in place of SVC_KEY_DIR; nothing is ever made there", nil},
	{"SVC_ISSUER", "svc-core", "the claim iss of attestations", isIssuer},
	{"SVC_INTEGER_AMOUNTS", "decimal", "base reads amounts without a point as base units, for hook clients that send them so", oneOf("decimal", "base")},
	{"SVC_RATE_LIMIT_KEY", "", "authorize and test-run per API key, N or N/DURATION, 0 for none (default 180/60s hosted, 120/60s in test)", isWindow},
	{"SVC_RATE_LIMIT_IP", "", "all routes but the public documents, per IP address, before the key is looked at (default 1500/60s hosted, 1000/60s in test)", isWindow},
	{"SVC_RATE_LIMIT_HOLDS", "", "reading and resolving holds, per API key (default 30/60s hosted)", isWindow},
	{"SVC_RATE_LIMIT_REGISTER", "", "registering keys, per IP address (default 5/3600s hosted)", isWindow},
	{"SVC_RATE_LIMIT_MANAGE", "", "deployments, webhooks and events together, per API key (default 120/60s hosted)", isWindow},
	{"SVC_RATE_LIMIT_DEPLOY", "", "policies that are compiled to be deployed, refused ones included, per API key (default 10/3600s hosted)", isWindow},
	{"SVC_EVENT_DETAIL", decision.FullDetail.String(), "what events say of a request: full (credentials masked), digest (a keyed digest for each value), none", oneOf(decision.EventDetails()...)},
	{"SVC_OTLP_LOGS", "", "address of an OpenTelemetry collector's logs, such as http://127.0.0.1:4318/v1/logs (OTLP over HTTP), that gets every event", isCollector},
	{"SVC_OTLP_HEADERS", "", "headers of requests to it, name=value, comma-separated, values percent-encoded (as in OTEL_EXPORTER_OTLP_HEADERS)", isHeaders},
	{"SVC_REFUSE_ROLLBACK", "true", "false lets a key deploy a policy that governed it before and was replaced since", isBool},
	{"SVC_TRUSTED_SHIMS", "", "JSON file of the trusted shims: keys, issuers, identities, versions", nil},
	{"SVC_WEBHOOK_ALLOW_PRIVATE", "false", "true lets webhooks go to http and to private addresses; for development", isBool},
	{"SVC_INTERNAL_LISTEN", "", "production: address and port on which test environments fetch keys (mutual TLS)", isAddress},
	{"SVC_INTERNAL_CERT", "", "certificate of that listener (PEM)", nil},
	{"SVC_INTERNAL_KEY", "", "its private key (PEM, mode 0600)", nil},
	{"SVC_INTERNAL_CA", "", "certificates (PEM) of whom clients' certificates have to come from", nil},
	{"SVC_MIRROR_URL", "", "test: https address of the production service's SVC_INTERNAL_LISTEN", isMirrorURL},
	{"SVC_MIRROR_CERT", "", "certificate to show there (PEM)", nil},
	{"SVC_MIRROR_KEY", "", "its private key (PEM, mode 0600)", nil},
	{"SVC_MIRROR_CA", "", "certificates (PEM) of whom the service's certificate has to come from", nil},
	{"SVC_RPC_URL_" + chainSuffix, "", "JSON-RPC address of a chain's node, for /rpc", IsUpstream},
	{"SVC_BUNDLER_URL_" + chainSuffix, "", "JSON-RPC address of a chain's bundler, for /bundler", IsUpstream},
	{"SVC_RPC_CHAINS", "1,8453", "chains that /rpc and /bundler take", isChains},
	{"SVC_MAX_FEE_" + chainSuffix, "", "the most that the gas of a write on a chain may cost whose intent declares no maxFee, in native units; 0 for no limit (default 1; 100 on chain 137)", isMaxFee},
	{"SVC_ENTRY_POINTS", "", "entry points that /bundler takes, VERSION:ADDRESS, comma-separated (default: the canonical ones of 0.6, 0.7 and 0.8)", isEntryPoints},
}

// AdminListenDefault is where metrics are, if that is free and no setting says otherwise.
const AdminListenDefault = "127.0.0.1:8788"

// clientVariables belong to the commands that ask a service; the service has no use for them.
var clientVariables = []string{
	"SVC_API_KEY", "SVC_API_URL", "SVC_TASK_ID", "SVC_AGENT_ID", "SVC_FRAMEWORK", "SVC_FAIL_MODE", "SVC_HOOK_CONFIG",
}

// Settings are the environment as the service reads it.
type Settings map[string]string

// Read takes the settings out of an environment of NAME=value, and refuses those that it can't obey.
func Read(environ []string) (Settings, error) {
	s := Settings{}
	for _, row := range Table {
		if !strings.HasSuffix(row.Name, chainSuffix) {
			s[row.Name] = row.Fallback
		}
	}
	s["SVC_KEY_DIR"] = ""
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		row := RowOf(name)
		if row == nil || value == "" {
			continue
		}
		if row.check != nil {
			if err := row.check(value); err != nil {
				return nil, fmt.Errorf("%s is %s; %w", name, row.shown(value), err)
			}
		}
		s[name] = value
	}
	if s["SVC_KEY_DIR"] == "" {
		s["SVC_KEY_DIR"] = filepath.Join(s["SVC_DATA_DIR"], "keys")
	}
	return s, errors.Join(s.localProfiles(), s.wholeGroup("SVC_INTERNAL_LISTEN", "production"), s.wholeGroup("SVC_MIRROR_URL", "test"))
}

// shown is a value as an error shows it. Addresses of nodes carry their accounts' keys, and errors end up in logs.
func (row *Setting) shown(value string) string {
	if strings.HasSuffix(row.Name, "_URL_"+chainSuffix) {
		return "not good"
	}
	return strconv.Quote(value)
}

// RowOf finds the row of a variable's name, nil where there is none.
func RowOf(name string) *Setting {
	for i := range Table {
		row := &Table[i]
		prefix, perChain := strings.CutSuffix(row.Name, chainSuffix)
		if name == row.Name && !perChain || perChain && strings.HasPrefix(name, prefix) && isChain(name[len(prefix):]) == nil {
			return row
		}
	}
	return nil
}

// localProfiles refuses an address of profiles that other machines reach, unless that is asked for.
func (s Settings) localProfiles() error {
	address := s["SVC_PPROF_LISTEN"]
	if host, _, _ := net.SplitHostPort(address); address == "off" || Loopback(host) || s.On("SVC_PPROF_REMOTE") {
		return nil
	}
	return fmt.Errorf("SVC_PPROF_LISTEN is %q, which other machines may reach; use 127.0.0.1, or set SVC_PPROF_REMOTE=true", address)
}

// wholeGroup refuses a group of which some are set and others not, and one that the environment has no use for. The group
// is named by its first member: the others are _CERT, _KEY and _CA.
func (s Settings) wholeGroup(first, environment string) error {
	prefix := first[:strings.LastIndex(first, "_")]
	names := []string{first, prefix + "_CERT", prefix + "_KEY", prefix + "_CA"}
	var set, unset []string
	for _, name := range names {
		if s[name] == "" {
			unset = append(unset, name)
		} else {
			set = append(set, name)
		}
	}
	switch {
	case len(set) == 0:
		return nil
	case len(unset) > 0:
		return fmt.Errorf("%s is set, and %s is not; set all of them or none", set[0], strings.Join(unset, ", "))
	case s["SVC_ENV"] != environment:
		return fmt.Errorf("%s is set, and SVC_ENV is %s; it works in the environment %s only", first, s["SVC_ENV"], environment)
	}
	return nil
}

// Unknown returns the names in environ that look like settings and are none: most likely misspelt.
func Unknown(environ []string) (names []string) {
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "SVC_") && RowOf(name) == nil && !slices.Contains(clientVariables, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Help is the table as help prints it.
func Help() string {
	var text strings.Builder
	text.WriteString("The service is set up by environment variables:\n\n")
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range Table {
		fallback := ""
		if row.Fallback != "" {
			fallback = " (default " + row.Fallback + ")"
		}
		fmt.Fprintf(table, "  %s\t%s%s\n", row.Name, row.doc, fallback)
	}
	table.Flush()
	text.WriteString("\nA limit without a duration is for a minute; for registration, for an hour. Self-hosted, only limits that are set apply.\n")
	text.WriteString("\nGOMAXPROCS and GOGC work as ever; without them the service uses twice the processors, and 800.\n")
	text.WriteString("GOMEMLIMIT, unless it is set, is nine tenths of the memory that the service's control group may have.\n")
	text.WriteString("On Linux it executes itself once more at start, with half a millisecond of timer slack (prctl(2)), unless it has that.\n")
	return text.String()
}

// Hosted reports whether the service is hosted rather than self-hosted (decisions, section 1).
func (s Settings) Hosted() bool { return s.On("SVC_HOSTED") }

// On is a setting of isBool.
func (s Settings) On(name string) bool { return s[name] == "true" || s[name] == "1" }

// The values of SVC_MODE. Every value but modeObserve enforces.
const (
	ModeObserve = "OBSERVE"
	ModeEnforce = "ENFORCE"
)

// Observe reports whether what the policy denies is approved.
func (s Settings) Observe() bool { return s["SVC_MODE"] == ModeObserve }

// LogLevel is the level of the log.
func (s Settings) LogLevel() (level slog.Level) {
	_ = level.UnmarshalText([]byte(s["SVC_LOG_LEVEL"])) // oneOf has passed it
	return level
}

// LedgerPath is the folder of the ledger.
func (s Settings) LedgerPath() string { return filepath.Join(s["SVC_DATA_DIR"], "ledger") }

// AdminSocket is the socket by which the operator's commands reach a running service.
func (s Settings) AdminSocket() string { return filepath.Join(s["SVC_DATA_DIR"], "admin.sock") }

// CheckpointPath is the file of the last signed checkpoint.
func (s Settings) CheckpointPath() string { return filepath.Join(s["SVC_DATA_DIR"], "checkpoint") }

// OTLPPath is the file that says how far events were sent to a collector.
func (s Settings) OTLPPath() string { return filepath.Join(s["SVC_DATA_DIR"], "otlp") }

// SignerPath is the file that names the signer of the ledger.
func (s Settings) SignerPath() string { return filepath.Join(s.LedgerPath(), "signer") }

// SigningKeyPath is the file of the keys that sign attestations.
func (s Settings) SigningKeyPath() string { return filepath.Join(s["SVC_KEY_DIR"], attest.KeyFileName) }

// APIKeyPath is the file of the API key that a first run makes.
func (s Settings) APIKeyPath() string { return filepath.Join(s["SVC_DATA_DIR"], "api-key") }

// RunsAs says how the service runs, as log and metrics have it.
func (s Settings) RunsAs() (mode, hosting string) {
	mode, hosting = "enforce", "self-hosted"
	if s.Observe() {
		mode = ModeObserve
	}
	if s.Hosted() {
		hosting = "hosted"
	}
	return mode, hosting
}
