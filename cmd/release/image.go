package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// owner is the user and the group of the image. They have no names, because the image has no /etc/passwd.
const owner = 65532

// writeImage writes the archive of a container image for each Linux target, in the layout of the Open Container Initiative.
func writeImage(builds []build, tree tree, out, work string) error {
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	version := ""
	for _, b := range builds {
		if b.system != "linux" {
			continue
		}
		image, err := b.image(tree)
		if err != nil {
			return err
		}
		version = b.version()
		platform := &v1.Platform{OS: b.system, Architecture: b.arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	if version == "" { // no Linux target
		return nil
	}
	index = mutate.Annotations(index, labels(version, tree)).(v1.ImageIndex)
	dir := filepath.Join(work, "image")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// Programs that import the archive name the image by this annotation.
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})); err != nil {
		return err
	}
	files, err := filesOf(dir, ".", "")
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := pack(&archive, files[1:], tree.at); err != nil { // files[0] is the folder itself
		return err
	}
	return os.WriteFile(filepath.Join(out, "bailiff-"+version+"-oci.tar"), archive.Bytes(), 0o644)
}

// image returns the image of one build: the command, root certificates and an empty folder for the data, in one layer.
func (b build) image(tree tree) (v1.Image, error) {
	var content bytes.Buffer
	if err := pack(&content, b.imageFiles(), tree.at); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: tree.at}, CreatedBy: "cmd/release", Comment: "the command, root certificates, an empty data folder"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.system, b.arch, v1.Time{Time: tree.at}
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", owner, owner),
		Env:          []string{"SVC_DATA_DIR=/data", "WARRANTY_PATH=/config/warranty.md", "SVC_LISTEN=0.0.0.0:8787"},
		Entrypoint:   []string{"/bailiff"},
		Cmd:          []string{"serve"},
		ExposedPorts: map[string]struct{}{"8787/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		StopSignal:   "SIGTERM",
		Labels:       labels(b.version(), tree),
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, labels(b.version(), tree)).(v1.Image), nil
}

// imageFiles are the files of the image of a build.
func (b build) imageFiles() []file {
	return []file{
		{name: "bailiff", mode: 0o755, content: b.binary},
		{name: "config/", mode: 0o755},
		{name: "data/", mode: 0o700, owner: owner}, // a new volume takes owner and mode from here
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: roots()},
	}
}

// roots returns Mozilla's root certificates, as a version of a Go module has them, so that two builds have the same. Those that
// are trusted under conditions are left out, because a file of certificates cannot state them.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			panic(err) // a buffer takes everything
		}
	}
	return out.Bytes()
}

// labels describe the image, by the keys of the Open Container Initiative.
func labels(version string, tree tree) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":       "bailiff",
		prefix + "description": "A deterministic firewall in front of what AI agents do",
		prefix + "licenses":    "Apache-2.0",
		prefix + "version":     version,
		prefix + "revision":    tree.commit,
		prefix + "created":     tree.at.Format(time.RFC3339),
	}
}
