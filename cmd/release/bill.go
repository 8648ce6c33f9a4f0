package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"runtime/debug"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// bill returns the software bill of materials of a build in CycloneDX's JSON. It is made from what the Go command recorded in
// the binary, and so lists the modules that were compiled into it, and not all that go.mod names.
func (b build) bill(tree tree) ([]byte, error) {
	sum := sha256.Sum256(b.binary)
	main := cyclonedx.Component{
		BOMRef: purl(b.info.Main.Path, b.version()), Type: cyclonedx.ComponentTypeApplication, Name: "bailiff", Version: b.version(),
		PackageURL: purl(b.info.Main.Path, b.version()),
		Licenses:   &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
		Properties: b.properties(),
	}
	standard := debug.Module{Path: "std", Version: strings.TrimPrefix(b.info.GoVersion, "go")}
	components := []cyclonedx.Component{library(&standard)}
	for _, module := range b.info.Deps {
		components = append(components, library(module))
	}
	parts := make([]string, len(components))
	for i, c := range components {
		parts[i] = c.BOMRef
	}
	bom := cyclonedx.NewBOM()
	// Two binaries have two serial numbers, and the same binary always has the same.
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, sum[:]).URN()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: tree.at.Format(time.RFC3339), Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &parts}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}

// properties are the settings of the build, such as the platform and the commit.
func (b build) properties() *[]cyclonedx.Property {
	var all []cyclonedx.Property
	for _, setting := range b.info.Settings {
		all = append(all, cyclonedx.Property{Name: "go:build:" + setting.Key, Value: setting.Value})
	}
	return &all
}

// library is a module of the build. go.sum's hash is a property, as it is not the hash of one file.
func library(module *debug.Module) cyclonedx.Component {
	if module.Replace != nil {
		module = module.Replace
	}
	url := purl(module.Path, module.Version)
	c := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: url, Scope: cyclonedx.ScopeRequired}
	if module.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: module.Sum}}
	}
	return c
}

// purl is the package URL of a module; + is the one character of versions that it encodes.
func purl(module, version string) string {
	return "pkg:golang/" + module + "@" + strings.ReplaceAll(version, "+", "%2B")
}
