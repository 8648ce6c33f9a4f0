package e2e

import (
	"flag"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bailiff/fuzz/kit/port"
	"bailiff/fuzz/kit/seed"
)

// conformCases is how many generated requests the kit sends to each service. By 700 each level has some.
var conformCases = flag.Int("conform", 800, "how many requests the conformance kit holds to the oracle")

// conform runs the kit of the command against an address, with the keys of the site, and returns the report and the exit code.
func (s *site) conform(url, admin string, cases int, flags ...string) (report, said string, code int) {
	s.t.Helper()
	return s.run(append([]string{
		"conform", "run", "--url", url, "--admin", s.path(admin), "--operator-key", s.path("operator.key"), "--shim-key", s.path("shim/shim.key"),
		"--cases", strconv.Itoa(cases), "--seed", strconv.FormatInt(seed.Value(s.t), 10),
	}, flags...)...)
}

// conformable starts a service that trusts the kit's shim, and whose node of chain 1 is to be at an address.
func conformable(t *testing.T) (service *running, node string) {
	node, err := port.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, paymentPolicy, "SVC_RPC_URL_1=http://"+node)
	s.env = append(s.env, s.trustShim()...)
	return s.start(), node
}

// trustShim makes a shim of the kit, and returns the settings of services that trust it, with one address of all to which it consents.
func (s *site) trustShim() []string {
	s.t.Helper()
	s.must("conform", "shim", s.path("shim"))
	return []string{"SVC_TRUSTED_SHIMS=" + s.path("shim/shims.json"), "SVC_PUBLIC_URL=https://conform.invalid"}
}

// conformLevels are all levels of the kit.
const conformLevels = "Core,Limits,Holds,Attestation,Gateway,Client"

// TestConforms holds the built service, with a data folder, and the built hook to the oracle at all levels.
func TestConforms(t *testing.T) {
	t.Parallel()
	service, node := conformable(t)
	report, said, code := service.conform(service.base, "data/admin.sock", *conformCases, "--level", conformLevels,
		"--upstream", node, "--client", service.program()+" hook")
	t.Log(report)
	if code != 0 || !strings.Contains(report, " 0 divergences") {
		t.Errorf("exit %d: %s", code, said)
	}
	for level := range strings.SplitSeq(conformLevels, ",") {
		if !regexp.MustCompile(`(?m)^` + level + ` +[1-9][0-9]* cases  conforms$`).MatchString(report) {
			t.Errorf("the report has no cases of %s", level)
		}
	}
}

// mutantCases bounds the search for one mutant.
const mutantCases = 6000

// TestConformMutants: in front of the built service each of twenty proxies that falsify answers is found.
func TestConformMutants(t *testing.T) {
	t.Parallel()
	service, _ := conformable(t)
	report, said, code := service.conform(service.base, "data/admin.sock", mutantCases, "--against-mutant", "all")
	t.Log(report)
	if code != 0 || !strings.Contains(report, "\n20 of 20 mutants found; ") {
		t.Errorf("exit %d: %s", code, said)
	}
}
