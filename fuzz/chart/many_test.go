package chart

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"bailiff/cmd/bailiff/settings"
	"bailiff/fuzz/kit/debian"
)

// database has the example of a database for several instances.
const database = "../../cmd/bailiff/packaging/cloudnativepg"

// A many is the documents of several instances.
type many struct {
	stateful  *apps.StatefulSet
	peers     *core.Service
	network   *networking.NetworkPolicy
	budget    *policy.PodDisruptionBudget
	container core.Container
}

// renderMany returns the documents of several instances, with a text in place of another one in the templates.
func renderMany(t *testing.T, v values, planted ...string) many {
	t.Helper()
	documents, err := render(load(t, planted...), v)
	if err != nil {
		t.Fatal(err)
	}
	m := many{
		stateful: set[apps.StatefulSet](t, documents, "apps/v1 StatefulSet"),
		peers:    set[core.Service](t, documents, "v1 Service bailiff-peers"),
		network:  set[networking.NetworkPolicy](t, documents, "networking.k8s.io/v1 NetworkPolicy"),
		budget:   set[policy.PodDisruptionBudget](t, documents, "policy/v1 PodDisruptionBudget"),
	}
	m.container = m.stateful.Spec.Template.Spec.Containers[0]
	return m
}

// selects reports whether labels of a selector are all of the pods that the chart makes.
func (m *many) selects(labels map[string]string) bool {
	for name, value := range labels {
		if m.stateful.Spec.Template.Labels[name] != value {
			return false
		}
	}
	return labels["app.kubernetes.io/instance"] == "bailiff"
}

// faults returns what of several instances does not work together.
func (m *many) faults() (faults []string) {
	spec := m.stateful.Spec
	for fault, found := range map[string]bool{
		"the pods start one after the other":           spec.PodManagementPolicy != apps.ParallelPodManagement,
		"an update is no rolling one":                  spec.UpdateStrategy.Type != apps.RollingUpdateStatefulSetStrategyType,
		"there are not three instances":                *spec.Replicas != 3,
		"pods have no names":                           spec.ServiceName != m.peers.Name || m.peers.Spec.ClusterIP != core.ClusterIPNone,
		"pods have names when they are ready":          !m.peers.Spec.PublishNotReadyAddresses,
		"the names are of other pods":                  !m.selects(m.peers.Spec.Selector),
		"a drain takes more than one pod, or none":     m.budget.Spec.MaxUnavailable.IntVal != 1 || !m.selects(m.budget.Spec.Selector.MatchLabels),
		"pods that can't decide keep their nodes":      m.budget.Spec.UnhealthyPodEvictionPolicy == nil || *m.budget.Spec.UnhealthyPodEvictionPolicy != policy.AlwaysAllow,
		"all pods may be on one node":                  len(spec.Template.Spec.TopologySpreadConstraints) != 2,
		"requests are refused where nodes don't know":  m.container.Lifecycle == nil || m.container.Lifecycle.PreStop.Sleep.Seconds < 1,
		"the volume is smaller than the alert demands": spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage().Value() < 5<<28,
	} {
		if found {
			faults = append(faults, fault)
		}
	}
	for _, spread := range spec.Template.Spec.TopologySpreadConstraints {
		if !m.selects(spread.LabelSelector.MatchLabels) {
			faults = append(faults, "other pods are spread over "+spread.TopologyKey)
		}
	}
	return slices.Concat(faults, m.wrongNetwork(), m.wrongInstances())
}

// wrongNetwork returns which connections are open that should not be, or the other way round.
func (m *many) wrongNetwork() (faults []string) {
	var in, out []string
	say := func(to []networking.NetworkPolicyPeer, ports []networking.NetworkPolicyPort) string {
		who := "several"
		if len(to) == 1 && to[0].PodSelector != nil && to[0].NamespaceSelector == nil && to[0].IPBlock == nil {
			who = fmt.Sprint(to[0].PodSelector.MatchLabels)
			if m.selects(to[0].PodSelector.MatchLabels) {
				who = "instances"
			}
		}
		return who + " " + ports[0].Port.String()
	}
	for _, rule := range m.network.Spec.Ingress {
		if rule.Ports[0].Port.String() == "peers" {
			in = append(in, say(rule.From, rule.Ports))
		}
	}
	for _, rule := range m.network.Spec.Egress {
		if port := rule.Ports[0].Port.IntValue(); port != 53 {
			out = append(out, say(rule.To, rule.Ports))
		}
	}
	if want := []string{"instances peers"}; !slices.Equal(in, want) {
		faults = append(faults, fmt.Sprintf("the port of instances takes %q", in))
	}
	if want := []string{"map[cnpg.io/cluster:bailiff-db] 5432", "instances 8790"}; !slices.Equal(out, want) {
		faults = append(faults, fmt.Sprintf("instances reach %q", out))
	}
	return faults
}

// wrongInstances reads the settings of each pod: every one is another instance at another address, and sees its own certificate alone.
func (m *many) wrongInstances() (faults []string) {
	pairs, names, addresses := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range *m.stateful.Spec.Replicas {
		pod := fmt.Sprintf("%s-%d", m.stateful.Name, i)
		faults = append(faults, wrongSettings(m.container, pod)...)
		known := map[string]string{}
		for _, entry := range environ(m.container, pod) {
			name, value, _ := strings.Cut(entry, "=")
			known[name] = value
		}
		name, address := known["SVC_INSTANCE"], known["SVC_PEER_ADDRESS"]
		names[name], addresses[address] = true, true
		if host, port, err := net.SplitHostPort(address); err != nil || host != pod+"."+m.peers.Name || port != fmt.Sprint(m.peers.Spec.Ports[0].Port) || !settings.HostName(name) {
			faults = append(faults, fmt.Sprintf("the pod %s is the instance %q at %q", pod, name, address))
		}
		for _, mount := range m.container.VolumeMounts {
			if mount.Name == "peers" {
				pairs[mount.MountPath+" is "+mount.SubPath+expand(mount.SubPathExpr, known)] = true
			}
		}
	}
	if n := int(*m.stateful.Spec.Replicas); len(names) != n || len(addresses) != n || len(pairs) != 2*n+1 || !pairs["/secrets/peers/tls.key is bailiff-2.key"] {
		faults = append(faults, fmt.Sprintf("%d instances have %d names, %d addresses and the files %v", n, len(names), len(addresses), pairs))
	}
	return faults
}

// TestMany: several instances start and are drained as they can be, reach each other and the database, and no others reach their port.
func TestMany(t *testing.T) {
	v := valuesFiles(t)["many-values.yaml"]
	whole := renderMany(t, v)
	for _, fault := range whole.faults() {
		t.Error(fault)
	}
	for _, planted := range [][]string{
		{"podManagementPolicy: Parallel", "podManagementPolicy: OrderedReady"}, {"clusterIP: None", "clusterIP: 10.0.0.1"},
		{"publishNotReadyAddresses: true", "publishNotReadyAddresses: false"}, {"ternary 1 0", "ternary 2 0"}, {"AlwaysAllow", "IfHealthyBudget"}, {"{type: RollingUpdate}", "{type: OnDelete}"},
		{`"2Gi"`, `"1Gi"`}, {"fieldPath: {{ $field }}", "fieldPath: spec.nodeName"}, {"subPathExpr: $(SVC_INSTANCE).key", "subPath: bailiff-0.key"},
		{`    - from: [{podSelector: {matchLabels: {{ include "bailiff.selector" . | fromYaml | toJson }}}}]`, "    - from: [{podSelector: {}}]"},
		{`.Values.networkPolicy.database | nindent 8`, `(list (dict "podSelector" dict)) | nindent 8`}, {"seconds: 5", "seconds: 0"},
		{"port: {{ .Values.networkPolicy.databasePort }}", "port: 5433"}, {`bailiff.peers" . }}:8790`, `bailiff.peers" . }}:8791`},
		{"SVC_INSTANCE: metadata.name", "SVC_ISSUER: metadata.name"}, {"SVC_STORE: {", "SVC_SMTP_URL: {"},
	} {
		if m := renderMany(t, v, planted...); len(m.faults()) == 0 {
			t.Errorf("%s in place of %s is not found", planted[1], planted[0])
		}
	}
	own := []any{values{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}}
	chosen := renderMany(t, with(v, "topologySpreadConstraints", own))
	if got := chosen.stateful.Spec.Template.Spec.TopologySpreadConstraints; len(got) != 1 || got[0].TopologyKey != "rack" {
		t.Errorf("a topology of the user's own came out as %v", got)
	}
	documents, err := renderOn("v1.29.9", load(t), v)
	if err != nil || set[apps.StatefulSet](t, documents, "apps/v1 StatefulSet").Spec.Template.Spec.Containers[0].Lifecycle != nil {
		t.Errorf("a pod sleeps where Kubernetes can't yet, or: %v", err)
	}
}

// TestOneIsAsBefore: what several instances need is not in the documents of one without a store.
func TestOneIsAsBefore(t *testing.T) {
	for name, v := range valuesFiles(t) {
		documents, err := render(load(t), v)
		if err != nil {
			t.Fatal(err)
		}
		all := fmt.Sprint(documents)
		for _, of := range []string{"SVC_STORE", "SVC_INSTANCE", "SVC_PEER", "Parallel", "preStop", "bailiff-peers", "BailiffInstancesMissing", "5432"} {
			if strings.Contains(all, of) != (name == "many-values.yaml") {
				t.Errorf("%s: %s is in the documents: %v", name, of, name != "many-values.yaml")
			}
		}
	}
}

// TestPeersVolume: a CSI driver's volume has the certificates in place of a Secret, and one instance over a database needs none.
func TestPeersVolume(t *testing.T) {
	v := valuesFiles(t)["many-values.yaml"]
	driver := values{"driver": "csi.cert-manager.io", "readOnly": true, "volumeAttributes": values{"csi.cert-manager.io/issuer-name": "bailiff-peers"}}
	documents, err := render(load(t), with(v, "peers", values{"csi": driver}))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range wrongPod(documents, t) {
		t.Error(fault)
	}
	volumes := set[apps.StatefulSet](t, documents, "apps/v1 StatefulSet").Spec.Template.Spec.Volumes
	if last := volumes[len(volumes)-1]; last.CSI == nil || last.CSI.VolumeAttributes["csi.cert-manager.io/issuer-name"] != "bailiff-peers" {
		t.Errorf("the volume of certificates is %v", last)
	}
	documents, err = render(load(t), with(with(v, "peers", values{}), "replicas", 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range wrongPod(documents, t) {
		t.Error(fault)
	}
	if name := set[apps.StatefulSet](t, documents, "apps/v1 StatefulSet").Spec.ServiceName; name != "bailiff" || documents["v1 Service bailiff-peers"] != "" {
		t.Errorf("the Service of one instance's pod is %q", name)
	}
}

// TestManyPage: the values on the page about many machines make pods that start, and NOTES.txt names the certificates that they need.
func TestManyPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/many-machines.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "   ```yaml\n")
	text, _, found := strings.Cut(text, "   ```\n")
	var v values
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil || !found {
		t.Fatalf("the page's values: %v", err)
	}
	whole := renderMany(t, with(v, "policy", values{"text": "signed"}))
	for _, fault := range whole.faults() {
		t.Error(fault)
	}
	notes, err := filesOn(kubernetes, load(t), with(v, "policy", values{"text": "signed"}))
	if err != nil || !strings.Contains(notes["bailiff/templates/NOTES.txt"], "bailiff-2.crt  bailiff-2.key\n") {
		t.Errorf("%v: the notes are\n%s", err, notes["bailiff/templates/NOTES.txt"])
	}
}

// missingTest raises the alert that instances are missing: where one is down for long, where all are gone, and not where another release's are.
const missingTest = `
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'up{job="bailiff", namespace="agents", pod="bailiff-0"}', values: '1x20 1x20 _x20'}
      - {series: 'up{job="bailiff", namespace="agents", pod="bailiff-1"}', values: '1x20 1x20 _x20'}
      - {series: 'up{job="bailiff", namespace="agents", pod="bailiff-2"}', values: '1x20 0x20 _x20'}
      - {series: 'up{job="bailiff", namespace="other", pod="bailiff-3"}', values: '1x60'}
      - {series: 'up{job="bailiff", namespace="agents", pod="bailiff-test-0"}', values: '1x60'}
    alert_rule_test:
      - {eval_time: 20m, alertname: BailiffInstancesMissing}
      - eval_time: 40m
        alertname: BailiffInstancesMissing
        exp_alerts: [{exp_labels: {severity: ticket}, exp_annotations: {summary: Only 2 of 3 instances of bailiff answer, action: ACTION}}]
      - eval_time: 60m
        alertname: BailiffInstancesMissing
        exp_alerts: [{exp_labels: {severity: ticket}, exp_annotations: {summary: Only 0 of 3 instances of bailiff answer, action: ACTION}}]
`

// TestInstancesMissing has Prometheus' own tool raise the alert that only the chart can have, since it knows how many instances there are.
func TestInstancesMissing(t *testing.T) {
	promtool := debian.Program(t, "promtool", "prometheus")
	for planted, raised := range map[string]bool{"== 1) or": true, "== 0) or": false} {
		documents, err := render(load(t, "== 1) or", planted), valuesFiles(t)["many-values.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		groups := set[monitoring.PrometheusRule](t, documents, "monitoring.coreos.com/v1 PrometheusRule").Spec.Groups
		if len(groups) != 2 || len(groups[1].Rules) != 1 {
			t.Fatalf("the rules are %v", groups)
		}
		rules, err := yaml.Marshal(monitoring.PrometheusRuleSpec{Groups: groups[1:]})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		tests := strings.ReplaceAll(missingTest, "ACTION", fmt.Sprintf("%q", groups[1].Rules[0].Annotations["action"]))
		for name, text := range map[string]string{"rules.yml": string(rules), "test.yml": tests} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		command := exec.Command(promtool, "test", "rules", "test.yml")
		command.Dir = dir
		if said, err := command.CombinedOutput(); (err == nil) != raised {
			t.Errorf("%s: %v\n%s\n%s", planted, err, said, rules)
		}
	}
}

// databaseFile reads a file of the example, with a text in place of another one.
func databaseFile(t *testing.T, name, before, after string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(database, name))
	if err != nil {
		t.Fatal(err)
	}
	if before != "" && !strings.Contains(string(text), before) {
		t.Fatalf("%s does not have %q", name, before)
	}
	return strings.ReplaceAll(string(text), before, after)
}

// wrongDatabase returns what of the example of a database is unsafe, or does not fit the Job that makes the tables and the chart's values.
// CloudNativePG's Go types are not read: the module proxy has none. A misspelling is found in the fields that are named here, and in no others.
func wrongDatabase(t *testing.T, cluster, job string) (faults []string) {
	t.Helper()
	var object unstructured.Unstructured
	if err := yaml.UnmarshalStrict([]byte(cluster), &object.Object); err != nil {
		return []string{err.Error()}
	}
	into, err := decode("batch/v1 Job", job)
	if err != nil {
		return []string{err.Error()}
	}
	pod := into.(*batch.Job).Spec.Template.Spec
	container := pod.Containers[0]
	address := ""
	for _, entry := range environ(container, "bailiff-init-x") {
		if value, found := strings.CutPrefix(entry, "SVC_STORE="); found {
			address = value
		}
	}
	faults = wrongSettings(container, "bailiff-init-x")
	v := valuesFiles(t)["many-values.yaml"]
	labels := v["networkPolicy"].(values)["database"].([]any)[0].(values)["podSelector"].(values)["matchLabels"].(values)
	name := object.GetName()
	field := func(path string) any {
		value, _, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
		if list, ok := value.([]any); ok {
			return list[0].(values)
		}
		return value
	}
	role, _ := field("spec.managed.roles").(values)
	want := fmt.Sprintf("postgres://%v:password@%s-rw/%v?sslmode=verify-full%s", field("spec.bootstrap.initdb.owner"), name, field("spec.bootstrap.initdb.database"), rootCert)
	for _, c := range []struct{ what, got, want any }{
		{"the kind", object.GetAPIVersion() + " " + object.GetKind(), "postgresql.cnpg.io/v1 Cluster"}, {"instances", field("spec.instances"), 3.0},
		{"standbys that confirm", field("spec.postgresql.synchronous.number"), 1.0}, {"which of them", field("spec.postgresql.synchronous.method"), "any"},
		{"without one", field("spec.postgresql.synchronous.dataDurability"), "required"}, {"promoted", field("spec.postgresql.synchronous.failoverQuorum"), true},
		{"the role", strings.Join(container.Args, " "), fmt.Sprint("store init --role ", role["name"])}, {"that it signs in", role["login"], true},
		{"the address", address, want}, {"the owner's password", container.Env[0].ValueFrom.SecretKeyRef.Name, name + "-app"},
		{"the authority", pod.Volumes[0].Secret.SecretName, name + "-ca"}, {"the chart's", v["store"].(values)["caSecret"], name + "-ca"},
		{"how much of its Secret", len(pod.Volumes[0].Secret.Items), 1}, {"the network's", labels["cnpg.io/cluster"], name},
	} {
		if c.got != c.want {
			faults = append(faults, fmt.Sprintf("%v: %v, want %v", c.what, c.got, c.want))
		}
	}
	return faults
}

// TestDatabase: the example of a database confirms on a second machine and promotes none that lacks anything, and two
// of the files agree on each name.
func TestDatabase(t *testing.T) {
	for _, fault := range wrongDatabase(t, databaseFile(t, "cluster.yaml", "", ""), databaseFile(t, "init.yaml", "", "")) {
		t.Error(fault)
	}
	for _, planted := range [][]string{
		{"cluster.yaml", "dataDurability: required", "dataDurability: preferred"}, {"cluster.yaml", "synchronous:", "synchronus:"},
		{"cluster.yaml", "failoverQuorum:", "failoverQorum:"}, {"cluster.yaml", "owner: bailiff_owner", "owner: bailiff"},
		{"cluster.yaml", "name: bailiff,", "name: service,"}, {"cluster.yaml", "name: bailiff-db\n", "name: db\n"},
		{"init.yaml", "restartPolicy", "restartPolcy"}, {"init.yaml", "sslmode=verify-full", "sslmode=require"},
		{"init.yaml", "mountPath: /secrets/store", "mountPath: /secrets/db"}, {"init.yaml", ", items: [{key: ca.crt, path: ca.crt}]", ""},
		{"init.yaml", "name: PASSWORD", "name: PASWORD"}, {"init.yaml", "SVC_STORE", "SVC_STOER"},
	} {
		files := map[string]string{"cluster.yaml": databaseFile(t, "cluster.yaml", "", ""), "init.yaml": databaseFile(t, "init.yaml", "", "")}
		files[planted[0]] = databaseFile(t, planted[0], planted[1], planted[2])
		if len(wrongDatabase(t, files["cluster.yaml"], files["init.yaml"])) == 0 {
			t.Errorf("%s: %s in place of %s is not found", planted[0], planted[2], planted[1])
		}
	}
}
