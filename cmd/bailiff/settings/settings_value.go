package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"bailiff/cmd/bailiff/cli"
	"bailiff/httpd"
	"bailiff/runtime/gateway"
	"bailiff/runtime/mail"
	"bailiff/runtime/ratelimit"
	"bailiff/runtime/system"
	"bailiff/vm/amount"
)

// The types of settings' values. Each reads its text once, and says what a text can be that it does not read.

// Mode is ModeObserve or any other text.
type Mode string

// UnmarshalText rejects other spellings of OBSERVE: they would enforce although the operator meant to observe (decisions,
// section 7). Any other value is accepted.
func (m *Mode) UnmarshalText(text []byte) error {
	if *m = Mode(text); *m != ModeObserve && strings.EqualFold(strings.TrimSpace(string(text)), ModeObserve) {
		return errors.New("write OBSERVE in capitals to observe, or ENFORCE to enforce")
	}
	return nil
}

// An Address is a host and a port; the host may be empty, for all addresses.
type Address string

// UnmarshalText reads HOST:PORT.
func (a *Address) UnmarshalText(text []byte) error {
	*a = Address(text)
	_, port, err := net.SplitHostPort(string(text))
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return errors.New("it has to be HOST:PORT")
	}
	return nil
}

// Local reports whether only this machine reaches the address.
func (a Address) Local() bool {
	host, _, err := net.SplitHostPort(string(a))
	return err == nil && Loopback(host)
}

// An OptionalAddress is an address, or empty where the setting is "off".
type OptionalAddress struct{ Address }

// UnmarshalText reads HOST:PORT or "off".
func (a *OptionalAddress) UnmarshalText(text []byte) error {
	if a.Address = ""; string(text) == "off" {
		return nil
	}
	return a.Address.UnmarshalText(text)
}

// A LoopbackAddress is an optional address that other machines do not reach.
type LoopbackAddress struct{ OptionalAddress }

// UnmarshalText reads HOST:PORT of this machine, or "off".
func (a *LoopbackAddress) UnmarshalText(text []byte) error {
	if err := a.OptionalAddress.UnmarshalText(text); err != nil || a.Address == "" || a.Local() {
		return err
	}
	_, port, err := net.SplitHostPort(string(text))
	return errors.Join(err, fmt.Errorf("it is an address which other machines may reach; use 127.0.0.1:%s, or [::1]:%s", port, port))
}

// A SocketPath is an absolute path, which clients have to name as well.
type SocketPath string

// UnmarshalText reads an absolute path.
func (p *SocketPath) UnmarshalText(text []byte) error {
	if *p = SocketPath(text); !filepath.IsAbs(string(text)) || strings.ContainsRune(string(text), 0) {
		return errors.New("it has to be an absolute path, such as /run/bailiff/api.sock")
	}
	return nil
}

// A SocketMode says who may connect: that needs write permission, and no permission to execute.
type SocketMode fs.FileMode

// UnmarshalText reads an octal number.
func (m *SocketMode) UnmarshalText(text []byte) error {
	mode, err := strconv.ParseUint(string(text), 8, 32)
	*m = SocketMode(mode)
	return err
}

// String returns the mode as it is set.
func (m SocketMode) String() string { return fmt.Sprintf("%04o", uint32(m)) }

// A BaseURL is the address of an API, below which routes begin.
type BaseURL string

// UnmarshalText reads an address that routes can follow.
func (b *BaseURL) UnmarshalText(text []byte) error {
	*b = BaseURL(text)
	u, err := url.Parse(string(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.HasSuffix(string(text), "/") {
		return errors.New("it has to be http:// or https:// and a host, without a slash at its end, query or user")
	}
	return nil
}

// A MirrorURL is the address of a service that is reached by mutual TLS.
type MirrorURL string

// UnmarshalText reads an https address.
func (m *MirrorURL) UnmarshalText(text []byte) error {
	if !strings.HasPrefix(string(text), "https://") {
		return errors.New("it has to be https: the two services show each other certificates")
	}
	*m = MirrorURL(text)
	return new(BaseURL).UnmarshalText(text)
}

// An Upstream is the address of a JSON-RPC server. It may carry the account's key in its path, query or user.
type Upstream string

// UnmarshalText reads an http or https address.
func (u *Upstream) UnmarshalText(text []byte) error {
	*u = Upstream(text)
	address, err := url.Parse(string(text))
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return errors.New("it has to be an http or https address")
	}
	return nil
}

// An SMTPServer is the address of a server of e-mails, with the password of an account.
type SMTPServer string

// UnmarshalText reads an address that e-mails can be sent by.
func (s *SMTPServer) UnmarshalText(text []byte) error {
	*s = SMTPServer(text)
	_, err := mail.New(string(text), "bailiff@example.com", system.Calls{})
	return err
}

// A Collector is the address of a collector's logs. It may carry an account's key in its path or query.
type Collector string

// UnmarshalText reads an http or https address with a path.
func (c *Collector) UnmarshalText(text []byte) error {
	*c = Collector(text)
	if err := new(Upstream).UnmarshalText(text); err != nil {
		return err
	}
	if u, err := url.Parse(string(text)); err != nil || strings.Trim(u.Path, "/") == "" {
		return errors.New("it has no path; the path of a collector's logs is usually /v1/logs")
	}
	return nil
}

// Headers are headers of requests.
type Headers http.Header

// UnmarshalText reads headers as OpenTelemetry's variables have them: a list of W3C Baggage members without properties.
func (h *Headers) UnmarshalText(list []byte) error {
	headers := http.Header{}
	for i, member := range strings.Split(string(list), ",") {
		name, text, ok := strings.Cut(member, "=")
		name = strings.TrimSpace(name)
		text, err := url.PathUnescape(strings.TrimSpace(text))
		switch {
		case strings.TrimSpace(member) == "":
		case !ok || !httpguts.ValidHeaderFieldName(name):
			return fmt.Errorf("member %d is not name=value with the name of a header", i+1) // the value may be a key
		case err != nil || !httpguts.ValidHeaderFieldValue(text):
			return fmt.Errorf("the value of %s is not percent-encoded text of a header", name)
		default:
			headers.Add(name, text)
		}
	}
	*h = Headers(headers)
	return nil
}

// maxIssuer bounds the claim iss: an attestation has to stay below 8 KiB.
const maxIssuer = 256

// An Issuer is a name that verifiers compare, and people copy.
type Issuer string

// UnmarshalText reads printable ASCII.
func (i *Issuer) UnmarshalText(text []byte) error {
	*i = Issuer(text)
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return errors.New("it has to be printable ASCII without spaces")
		}
	}
	if len(text) > maxIssuer {
		return fmt.Errorf("it can have %d characters", maxIssuer)
	}
	return nil
}

// maxContact bounds SVC_CONTACT, in bytes.
const maxContact = 256

// A Contact can be shown on one line.
type Contact string

// UnmarshalText reads a line.
func (c *Contact) UnmarshalText(text []byte) error {
	*c = Contact(text)
	if value := string(text); len(value) > maxContact || strings.Map(cli.OneLine, value) != value || !utf8.ValidString(value) {
		return fmt.Errorf("it has to be a line of at most %d bytes without control characters", maxContact)
	}
	return nil
}

// Networks are networks (CIDR) and single addresses.
type Networks []netip.Prefix

// UnmarshalText reads a list of networks.
func (n *Networks) UnmarshalText(text []byte) error {
	*n = nil
	for item := range items(text) {
		prefix, err := netip.ParsePrefix(item)
		if single, bad := netip.ParseAddr(item); err != nil && bad == nil && single.Zone() == "" {
			prefix, err = netip.PrefixFrom(single, single.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q is not a network such as 10.0.0.0/8 or fd00::/8", item)
		}
		if prefix != prefix.Masked() {
			return fmt.Errorf("%s has bits behind its length; did you mean %s?", item, prefix.Masked())
		}
		*n = append(*n, prefix)
	}
	return nil
}

// parseChain reads a chain's id as it is in the name of a setting.
func parseChain(text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 10, 53)
	if err != nil || id == 0 || strconv.FormatUint(id, 10) != text {
		return 0, fmt.Errorf("%q is not a chain id such as 8453", text)
	}
	return id, nil
}

// Chains are ids of chains.
type Chains []uint64

// UnmarshalText reads a list of ids.
func (c *Chains) UnmarshalText(text []byte) error {
	*c = nil
	for item := range items(text) {
		chain, err := parseChain(item)
		if err != nil {
			return err
		}
		*c = append(*c, chain)
	}
	return nil
}

// String returns the ids as they are set.
func (c Chains) String() string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint([]uint64(c))), ","), "[]")
}

// A MaxFee is a decimal of native units.
type MaxFee struct{ amount.Amount }

// UnmarshalText reads a decimal of native units.
func (f *MaxFee) UnmarshalText(text []byte) (err error) {
	f.Amount, err = gateway.ParseMaxFee(string(text))
	return err
}

// items yields the items of a list, without the spaces around them.
func items(list []byte) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(string(list), ",") {
			if !yield(strings.TrimSpace(item)) {
				return
			}
		}
	}
}

// A PerMinute is a rate limit whose number alone is for a minute. It is nil where it is not set.
type PerMinute struct{ *ratelimit.Window }

// UnmarshalText reads N or N/DURATION.
func (w *PerMinute) UnmarshalText(text []byte) (err error) {
	w.Window, err = parseWindow(string(text), time.Minute)
	return err
}

// A PerHour is a rate limit whose number alone is for an hour. It is nil where it is not set.
type PerHour struct{ *ratelimit.Window }

// UnmarshalText reads N or N/DURATION.
func (w *PerHour) UnmarshalText(text []byte) (err error) {
	w.Window, err = parseWindow(string(text), time.Hour)
	return err
}

// Bounds of rate limits: what a window holds is remembered one by one.
const (
	maxRate   = 1_000_000
	maxPeriod = 24 * time.Hour
)

// parseWindow reads N or N/DURATION, such as 180/60s; without a duration, per is it.
func parseWindow(value string, per time.Duration) (*ratelimit.Window, error) {
	count, period, hasPeriod := strings.Cut(value, "/")
	n, err := strconv.ParseUint(count, 10, 32)
	if hasPeriod && err == nil {
		per, err = time.ParseDuration(period)
	}
	if err != nil || n > maxRate || per < time.Second || per > maxPeriod {
		return nil, fmt.Errorf("it has to be N or N/DURATION such as 180/60s, with N up to %d and a duration from 1s to 24h; 0 for no limit", maxRate)
	}
	return &ratelimit.Window{Limit: int(n), Per: per}, nil
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Upstreams are the nodes and bundlers that the settings name.
func (s *Settings) Upstreams() (list []gateway.Upstream) {
	for endpoint, urls := range map[gateway.Endpoint]map[uint64]Upstream{gateway.RPC: s.RPCURLs, gateway.Bundler: s.BundlerURLs} {
		for chain, url := range urls {
			list = append(list, gateway.Upstream{Endpoint: endpoint, Chain: chain, URL: string(url)})
		}
	}
	return list
}

// FeeLimits are the limits of fees that the settings name, by chain.
func (s *Settings) FeeLimits() gateway.MaxFees {
	fees := gateway.MaxFees{}
	for chain, most := range s.MaxFees {
		fees[chain] = most.Amount
	}
	return fees
}

// Limits are the rate limits: those of the specification where the service is hosted, and what is set.
func (s *Settings) Limits() httpd.Limits {
	limits := httpd.DefaultLimits(s.Environment, s.Hosted)
	for limit, set := range map[*ratelimit.Window]*ratelimit.Window{
		&limits.Key: s.RateLimitKey.Window, &limits.IP: s.RateLimitIP.Window, &limits.Holds: s.RateLimitHolds.Window,
		&limits.Register: s.RateLimitRegister.Window, &limits.Manage: s.RateLimitManage.Window, &limits.Deploy: s.RateLimitDeploy.Window,
	} {
		if set != nil {
			*limit = *set
		}
	}
	return limits
}

// Age is how old something may become; 0 for any age.
type Age time.Duration

// minAge and maxAge bound an Age.
const (
	minAge = Age(time.Hour)
	maxAge = Age(36500 * 24 * time.Hour)
)

// UnmarshalText reads a number of days, or a duration as Go writes it.
func (a *Age) UnmarshalText(text []byte) error {
	if days, ok := strings.CutSuffix(string(text), "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err == nil {
			*a = Age(time.Duration(n) * 24 * time.Hour)
		}
	} else if d, err := time.ParseDuration(string(text)); err == nil {
		*a = Age(d)
	}
	if *a < minAge || *a > maxAge {
		return errors.New("write days or hours, such as 90d or 36h, from 1h to 36500d")
	}
	return nil
}

// String is "" for any age.
func (a Age) String() string {
	switch d := time.Duration(a); {
	case d == 0:
		return ""
	case d%(24*time.Hour) == 0:
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
	default:
		return d.String()
	}
}
