package serve

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/ratelimit"
)

// A settingRow is an environment, and what is wrong with it.
type settingRow struct{ environ, fault string }

func TestSettings(t *testing.T) {
	checkSettings(t, []settingRow{
		{"", ""},
		{"SVC_RATE_LIMIT_KEY=180", ""},
		{"SVC_RATE_LIMIT_KEY=0", ""},
		{"SVC_RATE_LIMIT_KEY=5/10m", ""},
		{"SVC_RATE_LIMIT_KEY=-1", "it has to be N or N/DURATION"},
		{"SVC_RATE_LIMIT_KEY=5/", "it has to be N"},
		{"SVC_RATE_LIMIT_KEY=5/1ms", "from 1s to 24h"},
		{"SVC_RATE_LIMIT_KEY=1000001", "up to 1000000"},
		{"SVC_TRUSTED_PROXIES=10.0.0.0/8, fd00::/8,192.0.2.1", ""},
		{"SVC_TRUSTED_PROXIES=10.0.0.0/8,", `"" is not a network`},
		{"SVC_TRUSTED_PROXIES=fe80::1%eth0", "is not a network"},
		{"SVC_ADMIN_LISTEN=off", ""},
		{"SVC_ADMIN_LISTEN=8788", "HOST:PORT"},
		{"SVC_LISTEN=off", "HOST:PORT"},
		{"SVC_LISTEN=127.0.0.1:http", "HOST:PORT"},
		{"SVC_PUBLIC_URL=https://bailiff.example.com", ""},
		{"SVC_PUBLIC_URL=https://bailiff.example.com/", "without a slash"},
		{"SVC_PUBLIC_URL=bailiff.example.com", "http:// or https://"},
		{"SVC_RPC_CHAINS=1,8453", ""},
		{"SVC_RPC_CHAINS=1,base", "is not a chain id"},
		{"SVC_RPC_CHAINS=01", "is not a chain id"},
		{"SVC_RPC_URL_8453=http://127.0.0.1:1/key", ""},
		{"SVC_RPC_URL_8453=127.0.0.1:1", "an http or https address"},
		{"SVC_RPC_URL_8453=wss://node.example/v3/hush", "SVC_RPC_URL_8453 is not good; it has to be an http or https address"},
		{"SVC_BUNDLER_URL_1=http://%zz/hush", "SVC_BUNDLER_URL_1 is not good"},
		{"SVC_ISSUER=https://bailiff.example.com/", ""},
		{"SVC_ISSUER=bailiff core", "printable ASCII"},
		{"SVC_ISSUER=bailiff\n", "printable ASCII"},
		{"SVC_ISSUER=bailiff\xff", "printable ASCII"},
		{"SVC_ISSUER=" + strings.Repeat("x", 257), "it can have 256 characters"},
		{"SVC_MAX_FEE_8453=0.05", ""},
		{"SVC_MAX_FEE_137=0", ""},
		{"SVC_MAX_FEE_8453=-1", `SVC_MAX_FEE_8453 is "-1"; it has to be a decimal of native units`},
		{"SVC_MAX_FEE_8453=1e18", "a decimal of native units"},
		{"SVC_ENTRY_POINTS=0.7:0x0000000071727de22e5e9d8baf0edac6f37da032", ""},
		{"SVC_ENTRY_POINTS=0x0000000071727de22e5e9d8baf0edac6f37da032", "VERSION:ADDRESS"},
		{"SVC_MODE=OBSERVE", ""},
		{"SVC_MODE=observe", `SVC_MODE is "observe"; write OBSERVE in capitals to observe, or ENFORCE to enforce`},
		{"SVC_REFUSE_ROLLBACK=on", "it can be true or false"},
		{"SVC_TLS_CERT=a SVC_TLS_KEY=b", ""},
		{"SVC_TLS_CERT=a", "SVC_TLS_CERT is set, and SVC_TLS_KEY is not; set all of them or none"},
		{"SVC_TLS_KEY=a", "SVC_TLS_KEY is set, and SVC_TLS_CERT is not"},
		{"SVC_INTERNAL_CA=x", "SVC_INTERNAL_CA is set, and SVC_INTERNAL_LISTEN"},
		{"SVC_ENV=test SVC_INTERNAL_LISTEN=:1 SVC_INTERNAL_CERT=a SVC_INTERNAL_KEY=b SVC_INTERNAL_CA=c", "works in the environment production only"},
		{"SVC_ENV=test SVC_MIRROR_URL=https://a SVC_MIRROR_CERT=a SVC_MIRROR_KEY=b SVC_MIRROR_CA=c", ""},
	})
}

// checkSettings reads environments, and fails where one is taken or refused otherwise than it should be.
func checkSettings(t *testing.T, rows []settingRow) {
	t.Helper()
	for _, row := range rows {
		environ := strings.Split(row.environ, " SVC_")
		for i := range environ[1:] {
			environ[i+1] = "SVC_" + environ[i+1]
		}
		_, err := cmdsettings.Read(environ)
		if row.fault == "" && err != nil || row.fault != "" && (err == nil || !strings.Contains(err.Error(), row.fault)) {
			t.Errorf("%s: %v", row.environ, err)
		}
		if err != nil && strings.Contains(err.Error(), "hush") {
			t.Errorf("an address of a node is shown: %v", err)
		}
	}
}

// TestSettingsOfOperators: the same of what operators watch a service by.
func TestSettingsOfOperators(t *testing.T) {
	checkSettings(t, []settingRow{
		{"SVC_PPROF_LISTEN=127.0.0.1:0", ""},
		{"SVC_PPROF_LISTEN=[::1]:6060", ""},
		{"SVC_PPROF_LISTEN=:6060", "which other machines may reach"},
		{"SVC_PPROF_LISTEN=192.0.2.1:6060", "set SVC_PPROF_REMOTE=true"},
		{"SVC_PPROF_LISTEN=192.0.2.1:6060 SVC_PPROF_REMOTE=true", ""},
		{"SVC_PPROF_LISTEN=6060", "HOST:PORT"},
		{"SVC_CONSOLE_LISTEN=off", ""},
		{"SVC_CONSOLE_LISTEN=127.0.0.1:0", ""},
		{"SVC_CONSOLE_LISTEN=[::1]:8789", ""},
		{"SVC_CONSOLE_LISTEN=localhost:8789", ""},
		{"SVC_CONSOLE_LISTEN=:8789", "which other machines may reach"},
		{"SVC_CONSOLE_LISTEN=0.0.0.0:8789", "which other machines may reach"},
		{"SVC_CONSOLE_LISTEN=192.0.2.1:8789", "use 127.0.0.1:8789"},
		{"SVC_CONSOLE_LISTEN=8789", "HOST:PORT"},
		{"SVC_LOG_FORMAT=json", ""},
		{"SVC_LOG_FORMAT=xml", "SVC_LOG_FORMAT"},
		{"SVC_LOG_LEVEL=warn", ""},
		{"SVC_LOG_LEVEL=loud", "SVC_LOG_LEVEL"},
	})
}

func TestUnknownSettings(t *testing.T) {
	environ := []string{"SVC_ISUER=x", "SVC_ISSUER=x", "SVC_RPC_URL_1=x", "SVC_RPC_URL_base=x", "SVC_API_KEY=x", "PATH=x", "WARRANTY_PATH=x"}
	if got := strings.Join(cmdsettings.Unknown(environ), " "); got != "SVC_ISUER SVC_RPC_URL_base" {
		t.Errorf("unknown are %q", got)
	}
}

// TestUnknownSettingsAreLogged: the log of a service begins with the settings that nothing reads.
func TestUnknownSettingsAreLogged(t *testing.T) {
	var text strings.Builder
	serviceLog(cli.Streams{Err: &text}, new(cmdsettings.Settings), slog.LevelInfo, []string{"SVC_HOSTD=true", "SVC_HOSTED=true"})
	if got := text.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "name=SVC_HOSTD") {
		t.Errorf("the log has %q", got)
	}
}

// TestServiceLog: the log has the form and the lines that the settings ask for.
func TestServiceLog(t *testing.T) {
	for environ, want := range map[string]string{
		"":                                       "level=INFO msg=info\nlevel=WARN msg=warn\nlevel=ERROR msg=error\n",
		"SVC_LOG_LEVEL=debug":                    "level=DEBUG msg=debug\nlevel=INFO msg=info\nlevel=WARN msg=warn\nlevel=ERROR msg=error\n",
		"SVC_LOG_LEVEL=error":                    "level=ERROR msg=error\n",
		"SVC_LOG_FORMAT=json SVC_LOG_LEVEL=warn": `"level":"WARN","msg":"warn"}` + "\n" + `"level":"ERROR","msg":"error"}` + "\n",
	} {
		s, err := cmdsettings.Read(strings.Fields(environ))
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		log := serviceLog(cli.Streams{Err: &text}, s, s.LogLevel, nil)
		log.Debug("debug")
		log.Info("info")
		log.Warn("warn")
		log.Error("error")
		got := regexp.MustCompile(`(?m)^(time=\S+ |\{"time":"[^"]+",)`).ReplaceAllString(text.String(), "")
		if got != want {
			t.Errorf("%s: the log is %q, want %q", environ, got, want)
		}
	}
}

// TestLimits: hosted, the specification's limits apply and can be lifted; self-hosted, only what is set.
func TestLimits(t *testing.T) {
	for _, row := range []struct {
		environ          []string
		key, reg, manage ratelimit.Window
	}{
		{nil, ratelimit.Window{}, ratelimit.Window{}, ratelimit.Window{}},
		{[]string{"SVC_RATE_LIMIT_REGISTER=3", "SVC_RATE_LIMIT_MANAGE=7"}, ratelimit.Window{}, per(3, time.Hour), per(7, time.Minute)},
		{[]string{"SVC_HOSTED=true"}, per(180, time.Minute), per(5, time.Hour), per(120, time.Minute)},
		{[]string{"SVC_HOSTED=1", "SVC_ENV=test"}, per(120, time.Minute), per(5, time.Hour), per(120, time.Minute)},
		{[]string{"SVC_HOSTED=true", "SVC_RATE_LIMIT_KEY=0", "SVC_RATE_LIMIT_MANAGE=0"}, per(0, time.Minute), per(5, time.Hour), per(0, time.Minute)},
		{[]string{"SVC_HOSTED=true", "SVC_RATE_LIMIT_MANAGE=20/1h"}, per(180, time.Minute), per(5, time.Hour), per(20, time.Hour)},
	} {
		s, err := cmdsettings.Read(row.environ)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Limits(); got.Key != row.key || got.Register != row.reg || got.Manage != row.manage {
			t.Errorf("%v: %+v", row.environ, got)
		}
	}
}

func per(n int, period time.Duration) ratelimit.Window {
	return ratelimit.Window{Limit: n, Per: period}
}

// The limits of fees reach the gateways by their chains.
func TestMaxFees(t *testing.T) {
	s, err := cmdsettings.Read([]string{"SVC_MAX_FEE_1=0.5", "SVC_MAX_FEE_8453=0", "SVC_RPC_URL_10=http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	fees := s.FeeLimits()
	lifted, set := fees[8453]
	if ethereum := fees[1]; len(fees) != 2 || ethereum.Format(18) != "0.5" || !set || !lifted.IsZero() {
		t.Errorf("%v", fees)
	}
}
