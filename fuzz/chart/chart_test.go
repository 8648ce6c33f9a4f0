package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"bailiff/cmd/bailiff/settings"
)

const folder = "../../cmd/bailiff/packaging/helm/bailiff"

// types are the Go types of the documents that the chart makes, and of those beside it, by version and kind.
var types = map[string]any{
	"apps/v1 StatefulSet":                     apps.StatefulSet{},
	"batch/v1 Job":                            batch.Job{},
	"v1 Service":                              core.Service{},
	"v1 ConfigMap":                            core.ConfigMap{},
	"v1 ServiceAccount":                       core.ServiceAccount{},
	"networking.k8s.io/v1 NetworkPolicy":      networking.NetworkPolicy{},
	"policy/v1 PodDisruptionBudget":           policy.PodDisruptionBudget{},
	"monitoring.coreos.com/v1 PodMonitor":     monitoring.PodMonitor{},
	"monitoring.coreos.com/v1 PrometheusRule": monitoring.PrometheusRule{},
}

type values = map[string]any

// kubernetes is a version that the chart is for, as one who rents it out calls it.
const kubernetes = "v1.33.4-gke.1245000"

// valuesFiles returns the values of the chart's tests, by the names of their files.
func valuesFiles(t *testing.T) map[string]values {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "ci", "*-values.yaml"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%q, %v", names, err)
	}
	files := map[string]values{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var v values
		if err := yaml.UnmarshalStrict(text, &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		files[filepath.Base(name)] = v
	}
	return files
}

// load reads the chart, with a text in place of another one in its templates.
func load(t *testing.T, planted ...string) *helm.Chart {
	t.Helper()
	chart, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	changed := len(planted) == 0
	for _, template := range chart.Templates {
		if len(planted) > 0 && strings.Contains(string(template.Data), planted[0]) {
			template.Data, changed = []byte(strings.ReplaceAll(string(template.Data), planted[0], planted[1])), true
		}
	}
	if !changed {
		t.Fatalf("no template has %q", planted[0])
	}
	return chart
}

// render returns the documents that a chart makes of values, as helm install does, by version, kind and name.
func render(chart *helm.Chart, v values) (map[string]string, error) {
	return renderOn(kubernetes, chart, v)
}

// filesOn returns the files that a chart makes of values, by their paths, for a version of Kubernetes.
func filesOn(cluster string, chart *helm.Chart, v values) (map[string]string, error) {
	version, err := common.ParseKubeVersion(cluster)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "bailiff", Namespace: "agents", Revision: 1, IsInstall: true}
	all, err := commonutil.ToRenderValues(chart, v, release, &common.Capabilities{KubeVersion: *version})
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// renderOn renders for a version of Kubernetes.
func renderOn(cluster string, chart *helm.Chart, v values) (map[string]string, error) {
	files, err := filesOn(cluster, chart, v)
	if err != nil {
		return nil, err
	}
	documents := map[string]string{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for document := range strings.SplitSeq(text, "\n---\n") {
			var head struct {
				APIVersion, Kind string
				Metadata         struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if head.Kind != "" {
				documents[head.APIVersion+" "+head.Kind+" "+head.Metadata.Name] = document
			}
		}
	}
	return documents, nil
}

// decode reads a document as its type, strictly, which its version and kind say, with or without a name.
func decode(of, document string) (any, error) {
	words := append(strings.Fields(of), "")
	typed, ok := types[words[0]+" "+words[1]]
	if !ok {
		return nil, fmt.Errorf("there is no type for %s", of)
	}
	into := reflect.New(reflect.TypeOf(typed))
	err := yaml.UnmarshalStrict([]byte(document), into.Interface())
	return into.Interface(), err
}

// set reads a document into a type: the one of the release's name, or of another one that follows the kind.
func set[T any](t *testing.T, documents map[string]string, of string) *T {
	t.Helper()
	if len(strings.Fields(of)) == 2 {
		of += " bailiff"
	}
	object, err := decode(of, documents[of])
	if err != nil {
		t.Fatal(err)
	}
	return object.(*T)
}

// TestLint: helm lint has nothing to say of the chart with each file of values, and of a broken one it has.
func TestLint(t *testing.T) {
	faults := func(folder string, v values) (found []string) {
		for _, message := range lint.RunAll(folder, v, "agents").Messages {
			if message.Severity > support.InfoSev {
				found = append(found, message.Error())
			}
		}
		return found
	}
	for name, v := range valuesFiles(t) {
		for _, fault := range faults(folder, v) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	broken := filepath.Join(t.TempDir(), "bailiff")
	if err := os.Mkdir(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range load(t).Raw {
		text := strings.Replace(string(file.Data), "version: 0", "version: x", 1)
		if err := os.MkdirAll(filepath.Join(broken, filepath.Dir(file.Name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(broken, file.Name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(faults(broken, nil)) == 0 {
		t.Error("a planted version passes")
	}
}

// TestDocuments: every document decodes strictly into its type, every type is met, and a misspelling in any of them is found.
func TestDocuments(t *testing.T) {
	met := map[string]bool{}
	for name, v := range valuesFiles(t) {
		documents, err := render(load(t), v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for kind, document := range documents {
			met[kind[:strings.LastIndex(kind, " ")]] = true
			if _, err := decode(kind, document); err != nil {
				t.Errorf("%s: %s: %v\n%s", name, kind, err, document)
			}
			if _, err := decode(kind, strings.Replace(document, "\n  labels:", "\n  lables:", 1)); err == nil {
				t.Errorf("%s: %s: a planted misspelling is not found", name, kind)
			}
		}
	}
	for kind, of := range types {
		if _, beside := of.(batch.Job); !met[kind] && !beside {
			t.Errorf("no values make a %s", kind)
		}
	}
	for of, planted := range map[string][]string{
		"apps/v1 StatefulSet bailiff":                {"terminationGracePeriodSeconds", "terminationGracePeriodSecond"},
		"v1 Service bailiff-peers":                   {"publishNotReadyAddresses", "publishUnreadyAddresses"},
		"policy/v1 PodDisruptionBudget bailiff":      {"maxUnavailable", "maxUnavailble"},
		"networking.k8s.io/v1 NetworkPolicy bailiff": {"port: peers", "prot: peers"},
	} {
		documents, err := render(load(t, planted...), valuesFiles(t)["many-values.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(of, documents[of]); err == nil {
			t.Errorf("%s: %s in place of %s in a template is not found", of, planted[1], planted[0])
		}
	}
}

// wrongPod returns what of a pod does not fit together: mounts and volumes, ports and their names, settings and what reads them.
func wrongPod(documents map[string]string, t *testing.T) (faults []string) {
	stateful := set[apps.StatefulSet](t, documents, "apps/v1 StatefulSet")
	pod := stateful.Spec.Template.Spec
	container := pod.Containers[0]
	var volumes, mounts, ports []string
	for _, volume := range pod.Volumes {
		volumes = append(volumes, volume.Name)
	}
	for _, claim := range stateful.Spec.VolumeClaimTemplates {
		volumes = append(volumes, claim.Name)
	}
	for _, mount := range container.VolumeMounts {
		mounts = append(mounts, mount.Name)
	}
	slices.Sort(volumes)
	slices.Sort(mounts)
	mounts = slices.Compact(mounts) // one volume may have several places
	if !slices.Equal(volumes, mounts) {
		faults = append(faults, fmt.Sprintf("volumes %q and mounts %q", volumes, mounts))
	}
	for _, port := range container.Ports {
		ports = append(ports, port.Name)
	}
	named := []string{container.LivenessProbe.HTTPGet.Port.StrVal, container.ReadinessProbe.HTTPGet.Port.StrVal, container.StartupProbe.HTTPGet.Port.StrVal}
	for of := range documents {
		if strings.HasPrefix(of, "v1 Service ") {
			for _, port := range set[core.Service](t, documents, of).Spec.Ports {
				named = append(named, port.TargetPort.StrVal)
			}
		}
	}
	if documents["networking.k8s.io/v1 NetworkPolicy bailiff"] != "" {
		for _, rule := range set[networking.NetworkPolicy](t, documents, "networking.k8s.io/v1 NetworkPolicy").Spec.Ingress {
			named = append(named, rule.Ports[0].Port.StrVal)
		}
	}
	for _, name := range named {
		if !slices.Contains(ports, name) {
			faults = append(faults, fmt.Sprintf("a port %q, and the pod has %q", name, ports))
		}
	}
	return append(faults, wrongSettings(container, stateful.Name+"-0")...)
}

// fromSecret are values of settings that the chart takes out of Secrets. The others are addresses.
var fromSecret = map[string]string{
	"SVC_SMTP_URL":     "smtps://user:password@mail.example.com:465",
	"SVC_OTLP_HEADERS": "authorization=Bearer%20a",
	"PASSWORD":         "password", // of which an address is made
	"SVC_STORE":        "postgres://bailiff:password@bailiff-db-rw/bailiff?sslmode=verify-full" + rootCert,
}

// rootCert ends the address of a database whose authority the chart mounts.
const rootCert = "&sslrootcert=/secrets/store/ca.crt"

// variable is how a value or a path names a variable of the container.
var variable = regexp.MustCompile(`\$\((\w+)\)`)

// environ returns the variables of a pod's container as Kubernetes makes them: a value may name variables before it.
func environ(container core.Container, pod string) (entries []string) {
	known := map[string]string{}
	for _, v := range container.Env {
		value := expand(v.Value, known)
		switch {
		case v.ValueFrom == nil:
		case v.ValueFrom.FieldRef != nil && v.ValueFrom.FieldRef.FieldPath == "metadata.name":
			value = pod
		case v.ValueFrom.SecretKeyRef != nil:
			if value = fromSecret[v.Name]; value == "" {
				value = "https://node.example.com/key"
			}
		}
		known[v.Name] = value
		entries = append(entries, v.Name+"="+value)
	}
	return entries
}

// expand replaces the variables in a text that are known. The others stay, as Kubernetes leaves them.
func expand(text string, known map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(named string) string {
		if value, ok := known[named[2:len(named)-1]]; ok {
			return value
		}
		return named
	})
}

// wrongSettings reads the variables of a pod's container as the service does at its start.
func wrongSettings(container core.Container, pod string) (faults []string) {
	entries := environ(container, pod)
	for i, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		path, plain := value, value
		if strings.HasSuffix(value, rootCert) {
			_, path, _ = strings.Cut(rootCert, "=")
			plain = strings.TrimSuffix(value, rootCert) // it would be read
		}
		entries[i] = name + "=" + plain
		if strings.HasPrefix(path, "/") && !slices.ContainsFunc(container.VolumeMounts, func(m core.VolumeMount) bool { return strings.HasPrefix(path+"/", m.MountPath+"/") }) {
			faults = append(faults, fmt.Sprintf("%s is %s, where nothing is mounted", name, path))
		}
		if named := variable.FindString(value); named != "" {
			faults = append(faults, fmt.Sprintf("%s is %s, and %s is not set before it", name, value, named))
		}
	}
	if unknown := settings.Unknown(entries); len(unknown) > 0 {
		faults = append(faults, fmt.Sprintf("%q are not settings", unknown))
	}
	if _, err := settings.Read(entries); err != nil {
		faults = append(faults, err.Error())
	}
	return faults
}

// TestPod: what the chart makes fits together, and the service takes its settings.
func TestPod(t *testing.T) {
	files := valuesFiles(t)
	for name, v := range files {
		documents, err := render(load(t), v)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range wrongPod(documents, t) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	for _, planted := range [][]string{
		{"full", "{name: api, containerPort", "{name: ap, containerPort"}, {"full", "/secrets/tls/tls.crt", "/secret/tls/tls.crt"},
		{"full", "SVC_INTERNAL_CA:", "SVC_INTERNAL_AC:"}, {"full", "SVC_LISTEN: 0.0.0.0:8787", "SVC_LISTEN: everywhere"},
		{"full", "{name: data, mountPath", "{name: date, mountPath"}, {"many", "SVC_PEER_CA: /secrets/peers/ca.crt", ""},
		{"many", "SVC_PEER_ADDRESS: $(SVC_INSTANCE)", "SVC_PEER_ADDRESS: $(POD)"}, {"many", "mountPath: /secrets/peers/tls.key", "mountPath: /secrets/peers/key"},
		{"many", "mountPath: /secrets/store", "mountPath: /store"}, {"many", "{name: peers, containerPort", "{name: peer, containerPort"},
	} {
		documents, err := render(load(t, planted[1:]...), files[planted[0]+"-values.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		if len(wrongPod(documents, t)) == 0 {
			t.Errorf("%s in place of %s is not found", planted[2], planted[1])
		}
	}
}

// TestRules: the rules are those for Prometheus, and the monitor gives the job that they look for.
func TestRules(t *testing.T) {
	documents, err := render(load(t), valuesFiles(t)["full-values.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../cmd/bailiff/packaging/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var want monitoring.PrometheusRuleSpec
	if err := yaml.UnmarshalStrict(text, &want); err != nil {
		t.Fatal(err)
	}
	if got := set[monitoring.PrometheusRule](t, documents, "monitoring.coreos.com/v1 PrometheusRule").Spec; !reflect.DeepEqual(got, want) || len(got.Groups[0].Rules) < 15 {
		t.Errorf("the rules are %v", got)
	}
	relabel := set[monitoring.PodMonitor](t, documents, "monitoring.coreos.com/v1 PodMonitor").Spec.PodMetricsEndpoints[0].RelabelConfigs[0]
	if relabel.TargetLabel != "job" || *relabel.Replacement != "bailiff" || !strings.Contains(string(text), `job="bailiff"`) {
		t.Errorf("the monitor sets %v", relabel)
	}
}

// TestPolicyBytes: the policy in the ConfigMap has the bytes that were signed.
func TestPolicyBytes(t *testing.T) {
	text := "---\n# äöü {{ .Values }}\r\n\n  trailing \t\nno end"
	documents, err := render(load(t), with(valuesFiles(t)["least-values.yaml"], "policy", values{"text": text}))
	if err != nil {
		t.Fatal(err)
	}
	if got := set[core.ConfigMap](t, documents, "v1 ConfigMap").Data["warranty.md"]; got != text {
		t.Errorf("%q came out as %q", text, got)
	}
}

// with returns values with another part.
func with(v values, name string, part any) values {
	changed := maps.Clone(v)
	changed[name] = part
	return changed
}

// TestRefused: what can't work is refused before anything is installed, and the error says what to do.
func TestRefused(t *testing.T) {
	files := valuesFiles(t)
	least, hosted, many := files["least-values.yaml"], files["hosted-values.yaml"], files["many-values.yaml"]
	secret := func(name string) values { return values{"existingSecret": name} }
	settingsOf := func(name string, value any) values {
		return values{"SVC_OPERATOR_PUBLIC_KEY": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", name: value}
	}
	for what, c := range map[string]struct {
		values values
		says   string
	}{
		"no values":                      {values{}, "there is no policy: sign it"},
		"no operator":                    {with(least, "settings", values{}), "SVC_OPERATOR_PUBLIC_KEY is not set"},
		"two policies":                   {with(least, "policy", values{"text": "a", "existingConfigMap": "b"}), "remove one of them"},
		"a policy of a hosted service":   {with(hosted, "policy", values{"text": "a"}), "a hosted service has no default policy"},
		"a misspelt setting":             {with(least, "settings", settingsOf("SVC_LOG_LEVL", "info")), "SVC_LOG_LEVL"},
		"a value of another setting":     {with(least, "settings", settingsOf("SVC_LOG_LEVEL", "loud")), "SVC_LOG_LEVEL"},
		"a secret in the open":           {with(least, "settings", settingsOf("SVC_RPC_URL_1", "https://node.example.com/key")), "SVC_RPC_URL_1"},
		"a number":                       {with(least, "settings", settingsOf("SVC_RPC_CHAINS", 11155111)), "SVC_RPC_CHAINS"},
		"a setting that the chart makes": {with(least, "settings", settingsOf("SVC_LISTEN", "0.0.0.0:1")), "SVC_LISTEN"},
		"a misspelt value":               {with(least, "persistence", values{"sise": "1Gi"}), "sise"},
		"a volume of many":               {with(least, "persistence", values{"accessMode": "ReadWriteMany"}), "accessMode"},
		"a node behind the policy":       {with(least, "secretSettings", values{"SVC_RPC_URL_1": values{"name": "a", "key": "b"}}), "networkPolicy.egress lets it reach nothing but DNS"},
		"a mirror without a Secret":      {with(least, "mirror", values{"url": "https://a:1"}), "belong together"},
		"a mirror in production":         {with(least, "mirror", values{"url": "https://a:1", "existingSecret": "b"}), "SVC_ENV is not test"},
		"rules without metrics":          {with(least, "metrics", values{"enabled": false, "rules": true}), "need metrics.enabled"},
		"many without a store":           {with(many, "store", secret("")), "at '/store/existingSecret'"},
		"many without certificates":      {with(many, "peers", secret("")), "at '/peers/existingSecret'"},
		"many with keys of their own":    {with(many, "signingKeys", secret("")), "at '/signingKeys/existingSecret'"},
		"none":                           {with(many, "replicas", 0), "at '/replicas'"},
		"certificates without a store":   {with(least, "peers", secret("a")), "at '/store/existingSecret'"},
		"an authority without a store":   {with(least, "store", values{"caSecret": "a"}), "at '/store/existingSecret'"},
		"certificates from two places":   {with(many, "peers", values{"existingSecret": "a", "csi": values{"driver": "b"}}), "at '/peers/existingSecret'"},
		"a store and production's keys":  {with(many, "internal", secret("a")), "at '/internal/existingSecret'"},
		"a store and retention":          {with(many, "settings", settingsOf("SVC_EVENT_RETENTION", "90d")), "at '/persistence/size'"},
		"a store out of reach":           {with(many, "networkPolicy", values{}), "networkPolicy.database is empty"},
		"a store in the open":            {with(many, "settings", settingsOf("SVC_STORE", "postgres://a:b@c/d")), "SVC_STORE"},
	} {
		if _, err := render(load(t), c.values); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
	}
	retained := with(with(many, "settings", settingsOf("SVC_EVENT_RETENTION", "90d")), "persistence", values{"size": "20Gi"})
	if _, err := render(load(t), retained); err != nil {
		t.Errorf("a store and retention, with a size: %v", err)
	}
}
