package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
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
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"

	"bailiff/cmd/bailiff/settings"
)

const folder = "../../cmd/bailiff/packaging/helm/bailiff"

// types are the Go types of the documents that the chart makes, by version and kind.
var types = map[string]any{
	"apps/v1 StatefulSet":                     apps.StatefulSet{},
	"v1 Service":                              core.Service{},
	"v1 ConfigMap":                            core.ConfigMap{},
	"v1 ServiceAccount":                       core.ServiceAccount{},
	"networking.k8s.io/v1 NetworkPolicy":      networking.NetworkPolicy{},
	"policy/v1 PodDisruptionBudget":           policy.PodDisruptionBudget{},
	"monitoring.coreos.com/v1 PodMonitor":     monitoring.PodMonitor{},
	"monitoring.coreos.com/v1 PrometheusRule": monitoring.PrometheusRule{},
}

type values = map[string]any

// valuesFiles returns the values of the chart's tests, by the names of their files.
func valuesFiles(t *testing.T) map[string]values {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "ci", "*-values.yaml"))
	if err != nil || len(names) < 4 {
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
	release := common.ReleaseOptions{Name: "bailiff", Namespace: "agents", Revision: 1, IsInstall: true}
	all, err := commonutil.ToRenderValues(chart, v, release, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
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
				documents[head.APIVersion+" "+head.Kind] = document
			}
		}
	}
	return documents, nil
}

// decode reads a document as its type, strictly.
func decode(kind, document string) (any, error) {
	of, ok := types[kind]
	if !ok {
		return nil, fmt.Errorf("there is no type for %s", kind)
	}
	into := reflect.New(reflect.TypeOf(of))
	err := yaml.UnmarshalStrict([]byte(document), into.Interface())
	return into.Interface(), err
}

// set reads a document into a type.
func set[T any](t *testing.T, documents map[string]string, kind string) *T {
	t.Helper()
	object, err := decode(kind, documents[kind])
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
			met[kind] = true
			if _, err := decode(kind, document); err != nil {
				t.Errorf("%s: %s: %v\n%s", name, kind, err, document)
			}
			if _, err := decode(kind, strings.Replace(document, "\n  labels:", "\n  lables:", 1)); err == nil {
				t.Errorf("%s: %s: a planted misspelling is not found", name, kind)
			}
		}
	}
	for kind := range types {
		if !met[kind] {
			t.Errorf("no values make a %s", kind)
		}
	}
	planted, err := render(load(t, "terminationGracePeriodSeconds", "terminationGracePeriodSecond"), valuesFiles(t)["full-values.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode("apps/v1 StatefulSet", planted["apps/v1 StatefulSet"]); err == nil {
		t.Error("a misspelling planted in a template is not found")
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
	if !slices.Equal(volumes, mounts) {
		faults = append(faults, fmt.Sprintf("volumes %q and mounts %q", volumes, mounts))
	}
	for _, port := range container.Ports {
		ports = append(ports, port.Name)
	}
	named := []string{container.LivenessProbe.HTTPGet.Port.StrVal, container.ReadinessProbe.HTTPGet.Port.StrVal, container.StartupProbe.HTTPGet.Port.StrVal}
	for _, port := range set[core.Service](t, documents, "v1 Service").Spec.Ports {
		named = append(named, port.TargetPort.StrVal)
	}
	if documents["networking.k8s.io/v1 NetworkPolicy"] != "" {
		for _, rule := range set[networking.NetworkPolicy](t, documents, "networking.k8s.io/v1 NetworkPolicy").Spec.Ingress {
			named = append(named, rule.Ports[0].Port.StrVal)
		}
	}
	for _, name := range named {
		if !slices.Contains(ports, name) {
			faults = append(faults, fmt.Sprintf("a port %q, and the pod has %q", name, ports))
		}
	}
	return append(faults, wrongSettings(container)...)
}

// wrongSettings reads a container's variables as the service does at its start. Those of Secrets have values that it would take.
func wrongSettings(container core.Container) (faults []string) {
	var environ []string
	for _, variable := range container.Env {
		value := variable.Value
		switch {
		case variable.ValueFrom == nil:
		case variable.Name == "SVC_SMTP_URL":
			value = "smtps://user:password@mail.example.com:465"
		case variable.Name == "SVC_OTLP_HEADERS":
			value = "authorization=Bearer%20a"
		default:
			value = "https://node.example.com/key"
		}
		environ = append(environ, variable.Name+"="+value)
		if path := value; strings.HasPrefix(path, "/") && !slices.ContainsFunc(container.VolumeMounts, func(m core.VolumeMount) bool { return strings.HasPrefix(path, m.MountPath+"/") }) {
			faults = append(faults, fmt.Sprintf("%s is %s, where nothing is mounted", variable.Name, path))
		}
	}
	if unknown := settings.Unknown(environ); len(unknown) > 0 {
		faults = append(faults, fmt.Sprintf("%q are not settings", unknown))
	}
	if _, err := settings.Read(environ); err != nil {
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
		{"{name: api, containerPort", "{name: ap, containerPort"}, {"/secrets/tls/tls.crt", "/secret/tls/tls.crt"}, {"SVC_INTERNAL_CA:", "SVC_INTERNAL_AC:"},
		{"SVC_LISTEN: 0.0.0.0:8787", "SVC_LISTEN: everywhere"}, {"{name: data, mountPath", "{name: date, mountPath"},
	} {
		documents, err := render(load(t, planted...), files["full-values.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		if len(wrongPod(documents, t)) == 0 {
			t.Errorf("%s in place of %s is not found", planted[1], planted[0])
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
	least, hosted := files["least-values.yaml"], files["hosted-values.yaml"]
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
	} {
		if _, err := render(load(t), c.values); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", what, err, c.says)
		}
	}
}
