package settings

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"bailiff/cmd/bailiff/cli"
	"bailiff/httpd"
	"bailiff/runtime/gateway"
	"bailiff/runtime/ratelimit"
)

// The forms of settings' values. Each check says what a value can be; each reader takes a value that its check has passed.

// isBool takes a switch.
func isBool(value string) error { return oneOf("true", "false", "1", "0")(value) }

// oneOf returns a check for one of a few words.
func oneOf(words ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("it can be %s", strings.Join(words, " or "))
		}
		return nil
	}
}

// isMode rejects other spellings of OBSERVE: they would enforce although the operator meant to observe (decisions,
// section 7). Any other value is accepted.
func isMode(value string) error {
	if value != ModeObserve && strings.EqualFold(strings.TrimSpace(value), ModeObserve) {
		return errors.New("write OBSERVE in capitals to observe, or ENFORCE to enforce")
	}
	return nil
}

// isAddress takes a host and a port; the host may be empty, for all addresses.
func isAddress(value string) error {
	_, port, err := net.SplitHostPort(value)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return errors.New("it has to be HOST:PORT")
	}
	return nil
}

// isSocketPath takes an absolute path, which clients have to name as well.
func isSocketPath(value string) error {
	if !filepath.IsAbs(value) || strings.ContainsRune(value, 0) {
		return errors.New("it has to be an absolute path, such as /run/bailiff/api.sock")
	}
	return nil
}

// isAddressOrOff takes an address, or off.
func isAddressOrOff(value string) error {
	if value == "off" {
		return nil
	}
	return isAddress(value)
}

// isLoopbackOrOff takes what a listener may listen on that other machines must not reach.
func isLoopbackOrOff(value string) error {
	if err := isAddressOrOff(value); err != nil || value == "off" {
		return err
	}
	host, port, err := net.SplitHostPort(value)
	if err == nil && !Loopback(host) {
		return fmt.Errorf("it is an address which other machines may reach; use 127.0.0.1:%s, or [::1]:%s", port, port)
	}
	return err
}

// isBaseURL takes the address of an API, below which routes begin.
func isBaseURL(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(value, "/") {
		return errors.New("it has to be http:// or https:// and a host, without a slash at its end, query or user")
	}
	return nil
}

// isMirrorURL takes the address of a service that is reached by mutual TLS.
func isMirrorURL(value string) error {
	if !strings.HasPrefix(value, "https://") {
		return errors.New("it has to be https: the two services show each other certificates")
	}
	return isBaseURL(value)
}

// IsUpstream takes the address of a JSON-RPC server. It may carry the account's key in its path, query or user.
func IsUpstream(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("it has to be an http or https address")
	}
	return nil
}

// isCollector takes the address of a collector's logs. It may carry an account's key in its path or query.
func isCollector(value string) error {
	if err := IsUpstream(value); err != nil {
		return err
	}
	if u, err := url.Parse(value); err != nil || strings.Trim(u.Path, "/") == "" {
		return errors.New("it has no path; the path of a collector's logs is usually /v1/logs")
	}
	return nil
}

// isHeaders takes the headers of requests.
func isHeaders(value string) error {
	_, err := ParseHeaders(value)
	return err
}

// ParseHeaders reads headers as OpenTelemetry's variables have them: a list of W3C Baggage members without properties.
func ParseHeaders(value string) (http.Header, error) {
	headers := http.Header{}
	for i, member := range strings.Split(value, ",") {
		name, text, ok := strings.Cut(member, "=")
		name = strings.TrimSpace(name)
		text, err := url.PathUnescape(strings.TrimSpace(text))
		switch {
		case strings.TrimSpace(member) == "":
		case !ok || !httpguts.ValidHeaderFieldName(name):
			return nil, fmt.Errorf("member %d is not name=value with the name of a header", i+1) // the value may be a key
		case err != nil || !httpguts.ValidHeaderFieldValue(text):
			return nil, fmt.Errorf("the value of %s is not percent-encoded text of a header", name)
		default:
			headers.Add(name, text)
		}
	}
	return headers, nil
}

// maxIssuer bounds the claim iss: an attestation has to stay below 8 KiB.
const maxIssuer = 256

// isIssuer takes what verifiers compare, and people copy.
func isIssuer(value string) error {
	for _, c := range []byte(value) {
		if c <= ' ' || c > '~' {
			return errors.New("it has to be printable ASCII without spaces")
		}
	}
	if len(value) > maxIssuer {
		return fmt.Errorf("it can have %d characters", maxIssuer)
	}
	return nil
}

// maxContact bounds SVC_CONTACT, in bytes.
const maxContact = 256

// isContact takes what can be shown on one line.
func isContact(value string) error {
	if len(value) > maxContact || strings.Map(cli.OneLine, value) != value || !utf8.ValidString(value) {
		return fmt.Errorf("it has to be a line of at most %d bytes without control characters", maxContact)
	}
	return nil
}

// isPrefixes takes networks.
func isPrefixes(value string) error {
	_, err := ParsePrefixes(value)
	return err
}

// ParsePrefixes reads networks (CIDR) and single addresses.
func ParsePrefixes(value string) (prefixes []netip.Prefix, err error) {
	for item := range items(value) {
		prefix, err := netip.ParsePrefix(item)
		if single, bad := netip.ParseAddr(item); err != nil && bad == nil && single.Zone() == "" {
			prefix, err = netip.PrefixFrom(single, single.BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no network like 10.0.0.0/8 or fd00::/8", item)
		}
		if prefix != prefix.Masked() {
			return nil, fmt.Errorf("%s has bits behind its length; did you mean %s?", item, prefix.Masked())
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, nil
}

// isChain takes a chain's id as it is in the name of a setting.
func isChain(value string) error {
	if id, err := strconv.ParseUint(value, 10, 53); err != nil || id == 0 || strconv.FormatUint(id, 10) != value {
		return fmt.Errorf("%q is no chain id like 8453", value)
	}
	return nil
}

// isChains takes chain ids.
func isChains(value string) error {
	for item := range items(value) {
		if err := isChain(item); err != nil {
			return err
		}
	}
	return nil
}

// ParseChains reads chain ids.
func ParseChains(value string) (chains []uint64) {
	for item := range items(value) {
		id, _ := strconv.ParseUint(item, 10, 53) // isChains has passed it
		chains = append(chains, id)
	}
	return chains
}

// isEntryPoints takes a list of VERSION:ADDRESS.
func isEntryPoints(value string) error {
	_, err := gateway.ParseEntryPoints(value)
	return err
}

// isMaxFee takes a decimal of native units.
func isMaxFee(value string) error {
	_, err := gateway.ParseMaxFee(value)
	return err
}

// items yields the items of a list, without the spaces around them.
func items(value string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(value, ",") {
			if !yield(strings.TrimSpace(item)) {
				return
			}
		}
	}
}

// isWindow takes a rate limit.
func isWindow(value string) error {
	_, err := parseWindow(value, time.Minute)
	return err
}

// Bounds of rate limits: what a window holds is remembered one by one.
const (
	maxRate   = 1_000_000
	maxPeriod = 24 * time.Hour
)

// parseWindow reads N or N/DURATION, such as 180/60s; without a duration, per is it.
func parseWindow(value string, per time.Duration) (ratelimit.Window, error) {
	count, period, hasPeriod := strings.Cut(value, "/")
	n, err := strconv.ParseUint(count, 10, 32)
	if hasPeriod && err == nil {
		per, err = time.ParseDuration(period)
	}
	if err != nil || n > maxRate || per < time.Second || per > maxPeriod {
		return ratelimit.Window{}, fmt.Errorf("it has to be N or N/DURATION such as 180/60s, with N up to %d and a duration from 1s to 24h; 0 for no limit", maxRate)
	}
	return ratelimit.Window{Limit: int(n), Per: per}, nil
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Upstreams are the nodes and bundlers that the settings name.
func (s Settings) Upstreams() (list []gateway.Upstream) {
	for name, url := range s {
		for prefix, endpoint := range map[string]gateway.Endpoint{"SVC_RPC_URL_": gateway.RPC, "SVC_BUNDLER_URL_": gateway.Bundler} {
			if chain, found := strings.CutPrefix(name, prefix); found {
				list = append(list, gateway.Upstream{Endpoint: endpoint, Chain: ParseChains(chain)[0], URL: url})
			}
		}
	}
	return list
}

// MaxFees are the limits of fees that the settings name, by chain.
func (s Settings) MaxFees() gateway.MaxFees {
	fees := gateway.MaxFees{}
	for name, value := range s {
		if chain, found := strings.CutPrefix(name, "SVC_MAX_FEE_"); found {
			fees[ParseChains(chain)[0]], _ = gateway.ParseMaxFee(value) // isMaxFee has passed it
		}
	}
	return fees
}

// Limits are the rate limits: those of the specification where the service is hosted, and what is set.
func (s Settings) Limits() httpd.Limits {
	limits := httpd.DefaultLimits(s["SVC_ENV"], s.Hosted())
	for name, row := range map[string]struct {
		window *ratelimit.Window
		per    time.Duration
	}{
		"SVC_RATE_LIMIT_KEY":      {&limits.Key, time.Minute},
		"SVC_RATE_LIMIT_IP":       {&limits.IP, time.Minute},
		"SVC_RATE_LIMIT_HOLDS":    {&limits.Holds, time.Minute},
		"SVC_RATE_LIMIT_REGISTER": {&limits.Register, time.Hour},
		"SVC_RATE_LIMIT_MANAGE":   {&limits.Manage, time.Minute},
		"SVC_RATE_LIMIT_DEPLOY":   {&limits.Deploy, time.Hour},
	} {
		if s[name] != "" {
			*row.window, _ = parseWindow(s[name], row.per) // isWindow has passed it
		}
	}
	return limits
}

// socketModes are what SVC_LISTEN_UNIX_MODE can be: connecting needs write permission, and no permission to execute.
var socketModes = []string{"0600", "0660", "0666"}
