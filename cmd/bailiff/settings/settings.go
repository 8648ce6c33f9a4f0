package settings

import (
	"encoding"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"bailiff/runtime/attest"
	"bailiff/runtime/decision"
	"bailiff/runtime/gateway"
)

// Settings are the environment as the service reads it. A field is the one definition of a setting: its tags have the name, the
// default, the words that it can be, whether SIGHUP changes it, and what help says; its type reads any other value. A map has a
// value for each chain.
//
// The tags are those of kong, which reads the commands' flags. It is not asked to read these: it knows no setting for each chain,
// takes no other environment than the process's own, and its errors speak of flags.
type Settings struct {
	File                string               `env:"SVC_SETTINGS_FILE" help:"file of further settings, NAME=value on each line; SIGHUP reads it again"`
	Hosted              bool                 `env:"SVC_HOSTED" default:"false" help:"true: no boot policy, open registration, plans with quotas, rate limits; else self-hosted"`
	OperatorKey         string               `env:"SVC_OPERATOR_PUBLIC_KEY" help:"the operator's Ed25519 public key, unpadded base64url; required when self-hosted; hosted it thaws the service and resumes keys"`
	WarrantyPath        string               `env:"WARRANTY_PATH" default:"config/warranty.md" reload:"" help:"the signed policy; self-hosted only"`
	Mode                Mode                 `env:"SVC_MODE" help:"OBSERVE approves what the policy would deny, and records it; anything else enforces"`
	Environment         string               `env:"SVC_ENV" default:"production" enum:"production,test" help:"production or test: which API keys are accepted"`
	Listen              Address              `env:"SVC_LISTEN" default:"127.0.0.1:8787" help:"address and port of the API"`
	TLSCert             string               `env:"SVC_TLS_CERT" reload:"" help:"certificate chain of the API (PEM); with it SVC_LISTEN speaks TLS alone"`
	TLSKey              string               `env:"SVC_TLS_KEY" reload:"" help:"its private key (PEM, mode 0600)"`
	ListenUnix          SocketPath           `env:"SVC_LISTEN_UNIX" help:"path of a Unix socket on which the API is served as well, for agents on this machine"`
	ListenUnixMode      SocketMode           `env:"SVC_LISTEN_UNIX_MODE" default:"0600" enum:"0600,0660,0666" help:"mode of that socket: 0600 for the service's user, 0660 for its group too, 0666 for all users of the machine"`
	AdminListen         OptionalAddress      `env:"SVC_ADMIN_LISTEN" default:"127.0.0.1:8788" help:"address and port of metrics and readiness (no keys asked); off for none"`
	PprofListen         OptionalAddress      `env:"SVC_PPROF_LISTEN" default:"off" help:"address and port of profiles (no keys asked), on this machine; off for none"`
	PprofRemote         bool                 `env:"SVC_PPROF_REMOTE" default:"false" help:"true lets SVC_PPROF_LISTEN be an address that other machines reach; profiles show memory, API keys included"`
	LogFormat           string               `env:"SVC_LOG_FORMAT" default:"text" enum:"text,json" help:"form of the log's lines on standard error: text (logfmt) or json, one object a line"`
	LogLevel            slog.Level           `env:"SVC_LOG_LEVEL" default:"info" enum:"debug,info,warn,error" reload:"" help:"the least severe lines that the log has: debug, info, warn or error"`
	Console             bool                 `env:"SVC_CONSOLE" default:"true" help:"false switches the console at /console of the API's address off; it answers over TLS and on this machine only"`
	ConsoleListen       LoopbackAddress      `env:"SVC_CONSOLE_LISTEN" default:"off" help:"loopback address and port of the operator's console of all keys, which bailiff console opens; off for none"`
	PublicURL           BaseURL              `env:"SVC_PUBLIC_URL" help:"where clients reach the API, for documents and activations (default http:// or https:// and SVC_LISTEN, where that names one address)"`
	ApprovalsRequired   string               `env:"SVC_APPROVALS_REQUIRED" default:"1" enum:"1,2" help:"how many approvers it takes to allow a hold by passkey: 1 or 2; one denies it"`
	AuthZEN             string               `env:"SVC_AUTHZEN" default:"test-run" enum:"test-run,authorize" help:"what an access request of AuthZEN is: test-run decides without any effect, authorize as POST /v1/authorize does"`
	Envoy               string               `env:"SVC_ENVOY" default:"test-run" enum:"test-run,authorize" help:"what a request of Envoy's external authorization is: test-run decides without any effect, authorize as POST /v1/authorize does"`
	Contact             Contact              `env:"SVC_CONTACT" help:"how to reach who runs the service (an e-mail or web address), for the conformance descriptor"`
	TrustedProxies      Networks             `env:"SVC_TRUSTED_PROXIES" help:"networks (CIDR, comma-separated) whose X-Forwarded-For names the client"`
	DataDir             string               `env:"SVC_DATA_DIR" default:"data" help:"folder of everything that is kept; made if missing"`
	Store               StoreURL             `env:"SVC_STORE" secret:"" help:"PostgreSQL database that keeps the record in place of SVC_DATA_DIR, postgres://USER:PASSWORD@HOST,HOST/DATABASE, so that several instances can wait for each other"`
	StoreSync           string               `env:"SVC_STORE_SYNC" default:"require" enum:"require,trust" help:"require decides only while the database confirms on a synchronous standby; trust leaves that to the database"`
	StoreLease          Lease                `env:"SVC_STORE_LEASE" default:"2s" help:"how long the instance that decides may be silent before another one takes over, 1s to 1m; the same on all instances"`
	PeerListen          Address              `env:"SVC_PEER_LISTEN" help:"address and port on which other instances of SVC_STORE pass requests on to this one while it decides (mutual TLS, but for loopback addresses); this one passes on, too, while it waits"`
	PeerAddress         Address              `env:"SVC_PEER_ADDRESS" help:"address and port at which other instances reach that listener (default: SVC_PEER_LISTEN)"`
	PeerCert            string               `env:"SVC_PEER_CERT" reload:"" help:"certificate of this instance (PEM) for SVC_INSTANCE.ID.bailiff.internal, with the ID of the store that bailiff store status prints"`
	PeerKey             string               `env:"SVC_PEER_KEY" reload:"" help:"its private key (PEM, mode 0600)"`
	PeerCA              string               `env:"SVC_PEER_CA" reload:"" help:"certificates (PEM) of whom the certificates of instances have to come from"`
	Instance            InstanceName         `env:"SVC_INSTANCE" help:"name of this instance at the database, different on each (default: the machine's host name)"`
	KeyDir              string               `env:"SVC_KEY_DIR" default:"SVC_DATA_DIR/keys" help:"folder of the signing keys; made at the first start"`
	SigningKeyFile      string               `env:"SVC_SIGNING_KEY_FILE" help:"file of the signing keys, in place of SVC_KEY_DIR; nothing is ever made there"`
	Issuer              Issuer               `env:"SVC_ISSUER" default:"svc-core" help:"the claim iss of attestations"`
	IntegerAmounts      string               `env:"SVC_INTEGER_AMOUNTS" default:"decimal" enum:"decimal,base" help:"base reads amounts without a point as base units, for hook clients that send them so"`
	RateLimitKey        PerMinute            `env:"SVC_RATE_LIMIT_KEY" reload:"" help:"authorize and test-run per API key, N or N/DURATION, 0 for none (default 180/60s hosted, 120/60s in test)"`
	RateLimitIP         PerMinute            `env:"SVC_RATE_LIMIT_IP" reload:"" help:"all routes but the public documents, per IP address, before the key is looked at (default 1500/60s hosted, 1000/60s in test)"`
	RateLimitHolds      PerMinute            `env:"SVC_RATE_LIMIT_HOLDS" reload:"" help:"reading and resolving holds, per API key (default 30/60s hosted)"`
	RateLimitRegister   PerHour              `env:"SVC_RATE_LIMIT_REGISTER" reload:"" help:"registering keys, per IP address (default 5/3600s hosted)"`
	RateLimitManage     PerMinute            `env:"SVC_RATE_LIMIT_MANAGE" reload:"" help:"deployments, webhooks and events together, per API key (default 120/60s hosted)"`
	RateLimitDeploy     PerHour              `env:"SVC_RATE_LIMIT_DEPLOY" reload:"" help:"policies that are compiled to be deployed, refused ones included, per API key (default 10/3600s hosted)"`
	EventDetail         decision.EventDetail `env:"SVC_EVENT_DETAIL" default:"full" help:"what events say of a request: full (credentials masked), digest (a keyed digest for each value), none"`
	EventRetention      Age                  `env:"SVC_EVENT_RETENTION" help:"how long events stay in the record, such as 90d or 36h, at least 1h; older ones are exported and then dropped; unset keeps all"`
	EventExport         string               `env:"SVC_EVENT_EXPORT" help:"folder that gets the events which SVC_EVENT_RETENTION drops; made if missing"`
	OTLPLogs            Collector            `env:"SVC_OTLP_LOGS" help:"address of an OpenTelemetry collector's logs, such as http://127.0.0.1:4318/v1/logs (OTLP over HTTP), that gets every event"`
	OTLPHeaders         Headers              `env:"SVC_OTLP_HEADERS" help:"headers of requests to it, name=value, comma-separated, values percent-encoded (as in OTEL_EXPORTER_OTLP_HEADERS)"`
	RefuseRollback      bool                 `env:"SVC_REFUSE_ROLLBACK" default:"true" help:"false lets a key deploy a policy that governed it before and was replaced since"`
	TrustedShims        string               `env:"SVC_TRUSTED_SHIMS" help:"JSON file of the trusted shims: keys, issuers, identities, versions"`
	WebhookAllowPrivate bool                 `env:"SVC_WEBHOOK_ALLOW_PRIVATE" default:"false" help:"true lets webhooks go to http and to private addresses; for development"`
	SMTPURL             SMTPServer           `env:"SVC_SMTP_URL" secret:"" help:"server of e-mails about holds, smtps://USER:PASSWORD@HOST:PORT, or smtp:// for STARTTLS"`
	SMTPFrom            string               `env:"SVC_SMTP_FROM" help:"sender of these e-mails, with SVC_SMTP_URL"`
	InternalListen      Address              `env:"SVC_INTERNAL_LISTEN" help:"production: address and port on which test environments fetch keys (mutual TLS)"`
	InternalCert        string               `env:"SVC_INTERNAL_CERT" reload:"" help:"certificate of that listener (PEM)"`
	InternalKey         string               `env:"SVC_INTERNAL_KEY" reload:"" help:"its private key (PEM, mode 0600)"`
	InternalCA          string               `env:"SVC_INTERNAL_CA" reload:"" help:"certificates (PEM) of whom clients' certificates have to come from"`
	MirrorURL           MirrorURL            `env:"SVC_MIRROR_URL" help:"test: https address of the production service's SVC_INTERNAL_LISTEN"`
	MirrorCert          string               `env:"SVC_MIRROR_CERT" reload:"" help:"certificate to show there (PEM)"`
	MirrorKey           string               `env:"SVC_MIRROR_KEY" reload:"" help:"its private key (PEM, mode 0600)"`
	MirrorCA            string               `env:"SVC_MIRROR_CA" reload:"" help:"certificates (PEM) of whom the service's certificate has to come from"`
	RPCURLs             map[uint64]Upstream  `env:"SVC_RPC_URL_<chainId>" secret:"" help:"JSON-RPC address of a chain's node, for /rpc"`
	BundlerURLs         map[uint64]Upstream  `env:"SVC_BUNDLER_URL_<chainId>" secret:"" help:"JSON-RPC address of a chain's bundler, for /bundler"`
	RPCChains           Chains               `env:"SVC_RPC_CHAINS" default:"1,8453" help:"chains that /rpc and /bundler take"`
	MaxFees             map[uint64]MaxFee    `env:"SVC_MAX_FEE_<chainId>" help:"the most that the gas of a write on a chain may cost whose intent declares no maxFee, in native units; 0 for no limit (default 1; 100 on chain 137)"`
	EntryPoints         gateway.EntryPoints  `env:"SVC_ENTRY_POINTS" help:"entry points that /bundler takes, VERSION:ADDRESS, comma-separated (default: the canonical ones of 0.6, 0.7 and 0.8)"`
}

// chainSuffix ends the names of settings that exist once for each chain.
const chainSuffix = "<chainId>"

// Setting is the definition of one environment variable of the service. A name that ends in <chainId> means one of each chain.
type Setting struct {
	Name, Fallback, help string

	Reloads bool   // SIGHUP changes it
	enum    string // the words that it can be, separated by commas; empty for a type that says so
	secret  bool   // no message has its value
	field   int    // of Settings
}

// Table has the settings, in the order in which help lists them.
var Table = func() (rows []Setting) {
	for i := range reflect.TypeFor[Settings]().NumField() {
		tag := reflect.TypeFor[Settings]().Field(i).Tag
		_, secret := tag.Lookup("secret")
		_, reloads := tag.Lookup("reload")
		rows = append(rows, Setting{
			Name: tag.Get("env"), Fallback: tag.Get("default"), help: tag.Get("help"), enum: tag.Get("enum"), Reloads: reloads, secret: secret, field: i,
		})
	}
	return rows
}()

// clientVariables belong to the commands that ask a service; the service has no use for them.
var clientVariables = []string{
	"SVC_API_KEY", "SVC_API_URL", "SVC_TASK_ID", "SVC_AGENT_ID", "SVC_FRAMEWORK", "SVC_FAIL_MODE", "SVC_HOOK_CONFIG",
}

// Defaults are the settings of an empty environment.
func Defaults() *Settings {
	s, err := Read(nil)
	if err != nil {
		panic(err) // a default that its own type refuses
	}
	return s
}

// Read takes the settings out of an environment of NAME=value, and refuses those that it can't obey.
func Read(environ []string) (*Settings, error) {
	s := new(Settings)
	for _, row := range Table {
		if row.Fallback != "" {
			if err := row.set(s, row.Name, row.Fallback); err != nil {
				return nil, err
			}
		}
	}
	s.KeyDir = "" // its default depends on another
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		row := RowOf(name)
		if row == nil || value == "" {
			continue
		}
		if err := row.set(s, name, value); err != nil {
			return nil, err
		}
	}
	if s.KeyDir == "" {
		s.KeyDir = filepath.Join(s.DataDir, "keys")
	}
	return s, errors.Join(
		s.fitsPeers(),
		s.localProfiles(),
		whole([]string{"SVC_SMTP_URL", "SVC_SMTP_FROM"}, string(s.SMTPURL), s.SMTPFrom),
		whole([]string{"SVC_EVENT_RETENTION", "SVC_EVENT_EXPORT"}, s.EventRetention.String(), s.EventExport),
		whole([]string{"SVC_TLS_CERT", "SVC_TLS_KEY"}, s.TLSCert, s.TLSKey),
		s.wholeGroup("SVC_INTERNAL_LISTEN", string(s.InternalListen), s.InternalCert, s.InternalKey, s.InternalCA, "production"),
		s.wholeGroup("SVC_MIRROR_URL", string(s.MirrorURL), s.MirrorCert, s.MirrorKey, s.MirrorCA, "test"))
}

// set reads the value of the variable of that name, which is the row's or, for a chain, one of its family.
func (row *Setting) set(s *Settings, name, value string) error {
	err := func() error {
		field := reflect.ValueOf(s).Elem().Field(row.field)
		if prefix, perChain := strings.CutSuffix(row.Name, chainSuffix); perChain {
			chain, err := parseChain(name[len(prefix):])
			if err != nil {
				return err
			}
			element := reflect.New(field.Type().Elem())
			if field.IsNil() {
				field.Set(reflect.MakeMap(field.Type()))
			}
			defer func() { field.SetMapIndex(reflect.ValueOf(chain), element.Elem()) }()
			return row.read(element.Elem(), value)
		}
		return row.read(field, value)
	}()
	switch {
	case err == nil:
		return nil
	case row.secret: // the address of a node carries its account's key, and errors end up in logs
		return fmt.Errorf("%s is not good; %w", name, err)
	}
	return fmt.Errorf("%s is %s; %w", name, strconv.Quote(value), err)
}

// read reads a value into the place of its type.
func (row *Setting) read(place reflect.Value, value string) error {
	words := strings.Split(row.enum, ",")
	if place.Kind() == reflect.Bool {
		words = []string{"true", "false", "1", "0"}
	}
	if words[0] != "" && !slices.Contains(words, value) {
		return fmt.Errorf("it can be %s", strings.Join(words, " or "))
	}
	if reader, ok := place.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return reader.UnmarshalText([]byte(value))
	}
	if place.Kind() == reflect.Bool {
		place.SetBool(value == "true" || value == "1")
	} else {
		place.SetString(value)
	}
	return nil
}

// RowOf finds the row of a variable's name, nil where there is none.
func RowOf(name string) *Setting {
	for i := range Table {
		row := &Table[i]
		prefix, perChain := strings.CutSuffix(row.Name, chainSuffix)
		if name == row.Name && !perChain {
			return row
		}
		if chain, found := strings.CutPrefix(name, prefix); perChain && found {
			if _, err := parseChain(chain); err == nil {
				return row
			}
		}
	}
	return nil
}

// localProfiles refuses an address of profiles that other machines reach, unless that is asked for.
func (s *Settings) localProfiles() error {
	if s.PprofListen.Address == "" || s.PprofListen.Local() || s.PprofRemote {
		return nil
	}
	return fmt.Errorf("SVC_PPROF_LISTEN is %q, which other machines may reach; use 127.0.0.1, or set SVC_PPROF_REMOTE=true", s.PprofListen.Address)
}

// wholeGroup refuses a group of which some are set and others not, and one that the environment has no use for. The group
// is named by its first member: the others are _CERT, _KEY and _CA.
func (s *Settings) wholeGroup(first, value, cert, key, authorities, environment string) error {
	prefix := first[:strings.LastIndex(first, "_")]
	if err := whole([]string{first, prefix + "_CERT", prefix + "_KEY", prefix + "_CA"}, value, cert, key, authorities); err != nil || value == "" {
		return err
	}
	if s.Environment != environment {
		return fmt.Errorf("%s is set, and SVC_ENV is %s; it works in the environment %s only", first, s.Environment, environment)
	}
	return nil
}

// whole refuses a group of settings of which some are set and others not.
func whole(names []string, values ...string) error {
	var set, unset []string
	for i, name := range names {
		if values[i] == "" {
			unset = append(unset, name)
		} else {
			set = append(set, name)
		}
	}
	if len(set) == 0 || len(unset) == 0 {
		return nil
	}
	return fmt.Errorf("%s is set, and %s is not; set all of them or none", set[0], strings.Join(unset, ", "))
}

// Changed returns the names of the settings that differ between two: those that a service can change while it runs, and those that
// it cannot.
func Changed(before, after *Settings) (changeable, fixed []string) {
	old, now := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for _, row := range Table {
		switch {
		case reflect.DeepEqual(old.Field(row.field).Interface(), now.Field(row.field).Interface()):
		case row.Reloads:
			changeable = append(changeable, row.Name)
		default:
			fixed = append(fixed, row.Name)
		}
	}
	return changeable, fixed
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
		fmt.Fprintf(table, "  %s\t%s%s\n", row.Name, row.help, fallback)
	}
	table.Flush()
	text.WriteString("\nSIGHUP reads these again, the certificates' files as well, and changes all of them or none: " + strings.Join(reloadable(), ", ") + ".\n")
	text.WriteString("\nA limit without a duration is for a minute; for registration, for an hour. Self-hosted, only limits that are set apply.\n")
	text.WriteString("\nGOMAXPROCS and GOGC work as ever; without them the service uses twice the processors, and 800.\n")
	text.WriteString("GOMEMLIMIT, unless it is set, is nine tenths of the memory that the service's control group may have.\n")
	text.WriteString("On Linux it executes itself once more at start, with half a millisecond of timer slack (prctl(2)), unless it has that.\n")
	return text.String()
}

// reloadable returns the names of the settings that SIGHUP changes.
func reloadable() (names []string) {
	for _, row := range Table {
		if row.Reloads {
			names = append(names, row.Name)
		}
	}
	return names
}

// The values of SVC_MODE. Every value but ModeObserve enforces.
const (
	ModeObserve = "OBSERVE"
	ModeEnforce = "ENFORCE"
)

// Observe reports whether what the policy denies is approved.
func (s *Settings) Observe() bool { return s.Mode == ModeObserve }

// LedgerPath is the folder of the ledger.
func (s *Settings) LedgerPath() string { return filepath.Join(s.DataDir, "ledger") }

// Imported is how the record of a data folder is called that was imported into a database: no service starts on it by mistake.
func Imported(ledger string) string { return ledger + ".imported" }

// Exporting is how the record of a data folder is called while it is made of a database's.
func Exporting(ledger string) string { return ledger + ".exporting" }

// AdminSocket is the socket by which the operator's commands reach a running service.
func (s *Settings) AdminSocket() string { return filepath.Join(s.DataDir, "admin.sock") }

// CheckpointPath is the file of the last signed checkpoint.
func (s *Settings) CheckpointPath() string { return filepath.Join(s.DataDir, "checkpoint") }

// SlotCheckpointPath is the file of the last signed checkpoint of a slot's log, where SVC_STORE has several slots.
func (s *Settings) SlotCheckpointPath(slot int) string {
	return s.CheckpointPath() + "-" + strconv.Itoa(slot)
}

// SlotFolder is where the events of a slot are exported, below a folder, where SVC_STORE has several slots.
func SlotFolder(folder string, slot int) string {
	return filepath.Join(folder, "slot-"+strconv.Itoa(slot))
}

// OTLPPath is the file that says how far events were sent to a collector.
func (s *Settings) OTLPPath() string { return filepath.Join(s.DataDir, "otlp") }

// SignerPath is the file that names the signer of the ledger.
func (s *Settings) SignerPath() string {
	if s.Store != "" {
		return filepath.Join(s.DataDir, "signer") // there is no ledger
	}
	return filepath.Join(s.LedgerPath(), "signer")
}

// SigningKeyPath is the file of the keys that sign attestations.
func (s *Settings) SigningKeyPath() string { return filepath.Join(s.KeyDir, attest.KeyFileName) }

// APIKeyPath is the file of the API key that a first run makes.
func (s *Settings) APIKeyPath() string { return filepath.Join(s.DataDir, "api-key") }

// RunsAs says how the service runs, as log and metrics have it.
func (s *Settings) RunsAs() (mode, hosting string) {
	mode, hosting = "enforce", "self-hosted"
	if s.Observe() {
		mode = ModeObserve
	}
	if s.Hosted {
		hosting = "hosted"
	}
	return mode, hosting
}
