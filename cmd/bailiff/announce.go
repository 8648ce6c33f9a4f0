package main

import (
	"slices"
	"strconv"
	"strings"

	"bailiff/runtime/limit"
)

// announce says at start what is served, and what an operator should know about it.
func (r *service) announce() {
	s := r.settings
	hosting, mode := "self-hosted", "enforce"
	if s.hosted() {
		hosting = "hosted"
	}
	if s.observe() {
		mode = "OBSERVE"
	}
	r.log.Info("serving", "hosting", hosting, "mode", mode, "address", r.address, "environment", s["SVC_ENV"], "publicURL", r.publicURL())
	if r.publicURL() == "" {
		r.log.Warn("SVC_PUBLIC_URL is not set: documents name their routes without a host, and activations of trusted shims are refused")
	}
	if s.hosted() {
		r.announceHosted()
	} else {
		r.announceSelfHosted()
	}
	limits := s.limits()
	r.log.Info("rate limits", "key", spell(limits.Key), "ip", spell(limits.IP), "holds", spell(limits.Holds),
		"register", spell(limits.Register), "manage", spell(limits.Manage))
	r.announceGateways()
	if s.observe() {
		r.log.Warn("OBSERVE mode: what the policy denies is approved; nothing is enforced")
	}
	if s["SVC_INTEGER_AMOUNTS"] == "base" {
		r.log.Warn("amounts without a point are read as base units")
	}
	if s.on("SVC_WEBHOOK_ALLOW_PRIVATE") {
		r.log.Warn("webhooks may go to private addresses: whoever registers one can reach this network")
	}
}

// announceHosted says what hosting means for policy, keys and limits (decisions, section 1).
func (r *service) announceHosted() {
	quota := "the plans' monthly quotas apply"
	if r.settings["SVC_ENV"] == "test" {
		quota = "no quota in the environment test"
	}
	r.log.Info("hosted", "policy", "each key's own; 409 until one is deployed, and the first deployment pins the key's operator",
		"keys", "anybody registers at /v1/keys/register", "quota", quota)
	for _, name := range []string{"SVC_OPERATOR_PUBLIC_KEY", "WARRANTY_PATH"} {
		if row := rowOf(name); r.settings[name] != row.fallback {
			r.log.Warn("a hosted service has no policy of its own; the setting is ignored", "name", name)
		}
	}
}

// announceSelfHosted says the same of a self-hosted service.
func (r *service) announceSelfHosted() {
	policy := r.boot.policy
	r.log.Info("self-hosted", "policy", r.settings["WARRANTY_PATH"], "policyHash", policy.Hash,
		"governs", "every key that has deployed none of its own; each key is pinned to the operator key",
		"keys", "bailiff keys create makes them; registration is closed", "quota", "none")
	for _, warning := range policy.Warnings {
		r.log.Warn("policy", "code", warning.Code, "message", warning.Message)
	}
}

// announceGateways says which chains can be reached. Upstreams' addresses hold secrets, and are not told.
func (r *service) announceGateways() {
	served := parseChains(r.settings["SVC_RPC_CHAINS"])
	var rpc, bundler []string
	for _, upstream := range r.settings.upstreams() {
		chain := strconv.FormatUint(upstream.Chain, 10)
		if !slices.Contains(served, upstream.Chain) {
			r.log.Warn("the chain is not in SVC_RPC_CHAINS, so its gateway answers 400", "chain", chain)
		}
		if upstream.Endpoint.String() == "rpc" {
			rpc = append(rpc, chain)
		} else {
			bundler = append(bundler, chain)
		}
	}
	slices.Sort(rpc)
	slices.Sort(bundler)
	if len(rpc)+len(bundler) > 0 {
		r.log.Info("gateways", "rpc", strings.Join(rpc, ","), "bundler", strings.Join(bundler, ","))
	}
}

// spell is a window as the settings spell it.
func spell(w limit.Window) string {
	if w.Limit == 0 {
		return "none"
	}
	return strconv.Itoa(w.Limit) + "/" + w.Per.String()
}
