package main

import (
	"net/http"
	"os"
	"regexp"
	"testing"
)

// TestChartProbes: a service that is well answers what the probes of the Helm chart ask.
func TestChartProbes(t *testing.T) {
	template, err := os.ReadFile("packaging/helm/bailiff/templates/statefulset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile(`httpGet: \{path: (/\w+), port: api,`).FindAllStringSubmatch(string(template), -1)
	if len(paths) != 3 {
		t.Fatalf("%d probes", len(paths))
	}
	w := newWalk(t)
	for path, want := range map[string]int{paths[0][1]: 200, paths[1][1]: 200, paths[2][1]: 200, "/healthy": 404} {
		answer, err := http.Get("http://" + w.address + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
		}
	}
}
