package setup

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// scrubVariable is the variable by which Claude Code keeps credentials from hooks: those whose names look like one, KeyVariable too.
const scrubVariable = "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB"

// KeyVariable is the variable from which an HTTP hook takes the API key.
const KeyVariable = "SVC_API_KEY"

// HTTPLimits are what keeps a host from sending an HTTP hook, or from sending it with its key. The lists of all settings files of a
// host count together; one that is nil is in none of them.
type HTTPLimits struct {
	URLs      []string // patterns of addresses, allowedHttpHookUrls
	Variables []string // httpHookAllowedEnvVars
	Scrubs    string   // what has the host withhold credentials; empty for nothing
}

// HTTPLimits returns what one settings file of a host says.
func (h *Host) HTTPLimits(text []byte) (l HTTPLimits, err error) {
	doc, err := h.parseJSON(text, true)
	if err != nil {
		return l, err
	}
	if list, isList := at(doc.value(), []string{"allowedHttpHookUrls"}).([]any); isList {
		l.URLs = append([]string{}, texts(list)...)
	}
	if list, isList := at(doc.value(), []string{"httpHookAllowedEnvVars"}).([]any); isList {
		l.Variables = append([]string{}, texts(list)...)
	}
	env, _ := at(doc.value(), []string{"env"}).(map[string]any)
	l.Scrubs = scrubs(func(name string) string { return textOf(env[name]) })
	return l, nil
}

// textOf is a text, empty for another value.
func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// scrubs says which variable has a host withhold credentials.
func scrubs(lookup func(string) string) string {
	value := strings.ToLower(strings.TrimSpace(lookup(scrubVariable)))
	switch {
	case isOn(value):
		return scrubVariable + "=" + value
	case value == "" && isOn(strings.ToLower(lookup("GITHUB_ACTIONS"))):
		return "GITHUB_ACTIONS"
	}
	return ""
}

func isOn(value string) bool { return slices.Contains([]string{"1", "true", "yes", "on"}, value) }

// Environment adds what the environment says.
func (l *HTTPLimits) Environment(lookup func(string) string) {
	if l.Scrubs == "" {
		l.Scrubs = scrubs(lookup)
	}
}

// Add adds what another file says.
func (l *HTTPLimits) Add(other HTTPLimits) {
	if other.URLs != nil {
		l.URLs = append(append([]string{}, l.URLs...), other.URLs...)
	}
	if other.Variables != nil {
		l.Variables = append(append([]string{}, l.Variables...), other.Variables...)
	}
	if l.Scrubs == "" {
		l.Scrubs = other.Scrubs
	}
}

// Refuses says why the host would not send an HTTP hook to the service at an address, or not with its key; empty where it would.
func (l *HTTPLimits) Refuses(address string) string {
	to, err := url.Parse(address)
	if err != nil {
		return fmt.Sprintf("%q is not an address", address)
	}
	ip, err := netip.ParseAddr(to.Hostname())
	switch {
	case err == nil && (ip.Unmap().IsLinkLocalUnicast() || ip.Unmap().IsMulticast()):
		return fmt.Sprintf("HTTP hooks may not reach %s, which is a link-local or reserved address; give another address of the service, 127.0.0.1 say", ip)
	case l.URLs != nil && !slices.ContainsFunc(l.URLs, func(pattern string) bool { return matches(pattern, address+HTTPPath) }):
		return fmt.Sprintf("allowedHttpHookUrls in the settings is %s, and %s matches none of it; add that", strings.Join(l.URLs, ", "), address+HTTPPath)
	case l.Variables != nil && !slices.Contains(l.Variables, KeyVariable):
		return fmt.Sprintf("httpHookAllowedEnvVars in the settings is %s, without %s, so the key would not be sent; add %s", strings.Join(l.Variables, ", "), KeyVariable, KeyVariable)
	case l.Scrubs != "":
		return fmt.Sprintf("%s has the host withhold variables that look like credentials, %s too, so the key would not be sent; set %s=0", l.Scrubs, KeyVariable, scrubVariable)
	}
	return ""
}

// matches reports whether a pattern, in which * means any text, is that of an address.
func matches(pattern, address string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	found, err := regexp.MatchString("^(?i:"+strings.Join(parts, ".*")+")$", address)
	return err == nil && found
}
