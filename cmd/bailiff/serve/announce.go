package serve

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"bailiff/cmd/bailiff/cli"
	cmdsettings "bailiff/cmd/bailiff/settings"
	"bailiff/runtime/policies"
	"bailiff/runtime/ratelimit"
)

// announce says at start which addresses are served, and what an operator should know about it.
func (r *service) announce() {
	s := r.settings
	mode, hosting := s.RunsAs()
	r.log.Info("build", cli.ThisBuild().Attributes()) // not before: what keeps a service from starting is told alone
	r.log.Info("serving", "hosting", hosting, "mode", mode, "address", r.address, "environment", s.Environment, "publicURL", r.publicURL())
	if socket := s.ListenUnix; socket != "" {
		r.log.Info("serving on a socket", "path", socket, "mode", s.ListenUnixMode)
	}
	if r.publicURL() == "" {
		r.log.Warn("SVC_PUBLIC_URL is not set: documents name their routes without a host, and activations of trusted shims are refused")
	}
	if s.Hosted {
		r.announceHosted()
	} else {
		r.announceSelfHosted()
	}
	limits := s.Limits()
	r.log.Info("rate limits", "key", spell(limits.Key), "ip", spell(limits.IP), "holds", spell(limits.Holds),
		"register", spell(limits.Register), "manage", spell(limits.Manage), "deploy", spell(limits.Deploy))
	r.announceGateways()
	if s.Observe() {
		r.log.Warn("OBSERVE mode: what the policy denies is approved; nothing is enforced")
	}
	if frozen := r.ledger.Frozen(); frozen.Stopped() {
		r.log.Warn("the service is frozen: nothing is allowed until the operator thaws it with: bailiff thaw", "reason", frozen.Reason)
	}
	r.announceRisks()
	if s.IntegerAmounts == "base" {
		r.log.Warn("amounts without a point are read as base units")
	}
	if s.WebhookAllowPrivate {
		r.log.Warn("webhooks may go to private addresses: every user who registers one can reach this network")
	}
}

// announceRisks warns of settings that do less, or let in more, than they seem to (decisions, section 7).
func (r *service) announceRisks() {
	s := r.settings
	if mode := s.Mode; mode != "" && mode != cmdsettings.ModeEnforce && mode != cmdsettings.ModeObserve {
		r.log.Warn("SVC_MODE is neither OBSERVE nor ENFORCE; the policy is enforced", "value", mode)
	}
	if at, err := netip.ParseAddrPort(r.address); err == nil && at.Addr().IsUnspecified() && s.TLSCert == "" {
		r.log.Warn("SVC_LISTEN listens on all addresses without TLS: API keys and attestations can be read on the way; set SVC_TLS_CERT and SVC_TLS_KEY, put a proxy with TLS in front, or listen on one address", "address", r.address)
	}
	if slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Bits() == 0 }) {
		r.log.Warn("SVC_TRUSTED_PROXIES trusts every address: any client can name its own source in X-Forwarded-For, and has no limit by IP address; name the proxies' networks")
	}
}

// announceHosted says what hosting means for policy, keys and limits (decisions, section 1).
func (r *service) announceHosted() {
	quota := "the plans' monthly quotas apply"
	if r.settings.Environment == "test" {
		quota = "no quota in the environment test"
	}
	r.log.Info("hosted", "policy", "each key's own; 409 until one is deployed, and the first deployment pins the key's operator",
		"keys", "anybody registers at /v1/keys/register", "quota", quota)
	if r.settings.WarrantyPath != cmdsettings.Defaults().WarrantyPath {
		r.log.Warn("a hosted service has no policy of its own; the setting is ignored", "name", "WARRANTY_PATH")
	}
}

// announceSelfHosted says the same of a self-hosted service.
func (r *service) announceSelfHosted() {
	policy := r.boot.Policy
	r.log.Info("self-hosted", "policy", r.settings.WarrantyPath, "policyHash", policy.Hash,
		"governs", "every key that has deployed none of its own; each key is pinned to the operator key",
		"keys", "bailiff keys create makes them; registration is closed", "quota", "none")
	r.announceWarnings(policy)
}

// announceWarnings logs what the compiler warns of in a policy.
func (r *service) announceWarnings(policy *policies.Policy) {
	for _, warning := range policy.Warnings {
		r.log.Warn("policy", "code", warning.Code, "message", warning.Message)
	}
}

// announceGateways says which chains can be reached. Upstreams' addresses hold secrets, and are not told.
func (r *service) announceGateways() {
	var rpc, bundler []string
	for _, upstream := range r.settings.Upstreams() {
		chain := strconv.FormatUint(upstream.Chain, 10)
		if !slices.Contains(r.settings.RPCChains, upstream.Chain) {
			r.log.Warn("the chain is not in SVC_RPC_CHAINS, so its gateway answers 400", "chain", chain)
		}
		if upstream.Endpoint.String() == "rpc" {
			rpc = append(rpc, chain)
		} else {
			bundler = append(bundler, chain)
		}
	}
	for chain, most := range r.settings.FeeLimits() {
		if most.IsZero() {
			r.log.Warn("the gas of a write may cost anything where its intent declares no maxFee", "chain", chain)
		}
	}
	slices.Sort(rpc)
	slices.Sort(bundler)
	if len(rpc)+len(bundler) > 0 {
		r.log.Info("gateways", "rpc", strings.Join(rpc, ","), "bundler", strings.Join(bundler, ","))
	}
}

// spell is a window as the settings spell it.
func spell(w ratelimit.Window) string {
	if w.Limit == 0 {
		return "none"
	}
	return strconv.Itoa(w.Limit) + "/" + w.Per.String()
}

// readCertificates reads the certificates that the settings name, and warns of those that have to be renewed.
func (r *service) readCertificates() error {
	pairs, faults := ReadPairs(r.settings)
	if err := errors.Join(faults...); err != nil {
		return err
	}
	r.certificates.use(pairs)
	r.warnOfCertificates(pairs)
	return nil
}

// warnOfCertificates logs which certificates have to be renewed.
func (r *service) warnOfCertificates(pairs []pair) {
	for _, one := range pairs {
		if text, soon, _ := one.Outlook(r.clock()); soon {
			r.log.Warn("certificate", "message", text)
		}
	}
}
