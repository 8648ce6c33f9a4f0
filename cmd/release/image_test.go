package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"bailiff/fuzz/kit/port"
)

// patience bounds how long a service may take to start.
const patience = time.Minute

// An unpacked is an image archive as a program that imports it sees it.
type unpacked struct {
	t     *testing.T
	files map[string][]byte
}

// faults returns the faults in the blobs of the archive: each is named by its hash.
func (u unpacked) faults() (found []string) {
	blobs := 0
	for name, content := range u.files {
		if digest, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && digest != "" {
			blobs++
			if got := fmt.Sprintf("%x", sha256.Sum256(content)); got != digest {
				found = append(found, name+" has the hash "+got)
			}
		}
	}
	if want := 1 + 3*len(ofLinux()); blobs != want { // an index; for each platform a manifest, a configuration and a layer
		found = append(found, fmt.Sprintf("%d blobs, want %d", blobs, want))
	}
	return found
}

// blob returns the content that a descriptor names, which has to be of its size.
func (u unpacked) blob(d v1.Descriptor) []byte {
	u.t.Helper()
	content, found := u.files["blobs/sha256/"+d.Digest.Hex]
	if !found || int64(len(content)) != d.Size || d.Digest.Algorithm != "sha256" {
		u.t.Fatalf("%s of %d bytes: found %v, with %d bytes", d.Digest, d.Size, found, len(content))
	}
	return content
}

func parse[T any](t *testing.T, content []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(content, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// image returns the configuration and the layer of an image, whose hashes agree.
func (u unpacked) image(d v1.Descriptor) (config v1.ConfigFile, layer []byte) {
	u.t.Helper()
	manifest := parse[v1.Manifest](u.t, u.blob(d))
	if manifest.MediaType != types.OCIManifestSchema1 || manifest.Config.MediaType != types.OCIConfigJSON || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != types.OCILayer {
		u.t.Errorf("the manifest is %+v", manifest)
	}
	config = parse[v1.ConfigFile](u.t, u.blob(manifest.Config))
	layer = gunzip(u.t, u.blob(manifest.Layers[0]))
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0].String() != got {
		u.t.Errorf("the configuration has the layers %v, and the layer is %s", config.RootFS.DiffIDs, got)
	}
	return config, layer
}

// TestImage takes the image apart as an importer does, and runs its command.
func TestImage(t *testing.T) {
	_, files := unpack(t, read(t, first(t), "bailiff-"+tag+"-oci.tar"))
	u := unpacked{t, files}
	if found := u.faults(); len(found) > 0 {
		t.Fatal(found)
	}
	if got := string(files["oci-layout"]); !strings.Contains(got, `"imageLayoutVersion": "1.0.0"`) {
		t.Errorf("oci-layout is %q", got)
	}
	outer := parse[v1.IndexManifest](t, files["index.json"])
	if len(outer.Manifests) != 1 || outer.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != tag || outer.Manifests[0].MediaType != types.OCIImageIndex {
		t.Fatalf("index.json is %+v", outer)
	}
	index := parse[v1.IndexManifest](t, u.blob(outer.Manifests[0]))
	var platforms []string
	for _, d := range index.Manifests {
		config, layer := u.image(d)
		if config.OS != d.Platform.OS || config.Architecture != d.Platform.Architecture || config.Created.UTC().Format(time.RFC3339) != committed {
			t.Errorf("%s %s of %v, listed as %v", config.OS, config.Architecture, config.Created, d.Platform)
		}
		platforms = append(platforms, d.Platform.String())
		checkConfig(t, config.Config)
		checkLayer(t, layer, read(t, first(t), "bailiff-"+tag+"-linux-"+config.Architecture+".tar.gz"), config.Architecture)
		if config.OS == runtime.GOOS && config.Architecture == runtime.GOARCH {
			runImage(t, config.Config, layer)
		}
	}
	if slices.Sort(platforms); !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}[:len(ofLinux())]) {
		t.Errorf("the image is for %q", platforms)
	}
	for name := range files { // a planted fault
		if strings.HasPrefix(name, "blobs/sha256/") && len(files[name]) > 0 {
			files[name] = append(bytes.Clone(files[name]), ' ')
			break
		}
	}
	if len(u.faults()) == 0 {
		t.Error("a changed blob is not found")
	}
}

// checkConfig holds the configuration to what docs/operating.md says of the image.
func checkConfig(t *testing.T, c v1.Config) {
	t.Helper()
	_, listens := c.ExposedPorts["8787/tcp"]
	_, keeps := c.Volumes["/data"]
	if c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/bailiff"}) || !slices.Equal(c.Cmd, []string{"serve"}) || !listens || !keeps || c.StopSignal != "SIGTERM" {
		t.Errorf("the configuration is %+v", c)
	}
	for key, want := range map[string]string{"title": "bailiff", "version": tag, "licenses": "Apache-2.0", "created": committed} {
		if got := c.Labels["org.opencontainers.image."+key]; got != want {
			t.Errorf("the label %s is %q, want %q", key, got, want)
		}
	}
	if len(c.Labels["org.opencontainers.image.revision"]) != 40 {
		t.Errorf("the labels are %v", c.Labels)
	}
}

// checkLayer holds the files of a layer: the command of the release's archive, certificates, a folder for data.
func checkLayer(t *testing.T, layer, archive []byte, arch string) {
	t.Helper()
	headers, contents := unpack(t, layer)
	for _, header := range headers {
		want := 0
		if header.Name == "data/" {
			want = 65532
		}
		if header.Uid != want || header.Gid != want || header.Mode&0o022 != 0 {
			t.Errorf("%s belongs to %d:%d with mode %o", header.Name, header.Uid, header.Gid, header.Mode)
		}
	}
	_, released := unpack(t, archive)
	if !bytes.Equal(contents["bailiff"], released["bailiff-"+tag+"-linux-"+arch+"/bailiff"]) {
		t.Error("the image has another binary than the archive")
	}
	roots := x509.NewCertPool()
	if certificates := contents["etc/ssl/certs/ca-certificates.crt"]; !roots.AppendCertsFromPEM(certificates) || bytes.Count(certificates, []byte("BEGIN CERTIFICATE")) < 100 {
		t.Error("the image lacks root certificates")
	}
}

func gunzip(t *testing.T, content []byte) []byte {
	t.Helper()
	command := exec.Command("gzip", "-dc") // another reader than the one that the image was written by
	command.Stdin = bytes.NewReader(content)
	plain, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// A container runs the command of an image. As root it sees the image's files alone, and runs as the image's user.
type container struct {
	t        *testing.T
	root     string
	config   v1.Config
	isolated bool
}

// runImage prints the version by the image's command, and starts a service under a signed policy.
func runImage(t *testing.T, config v1.Config, layer []byte) {
	t.Helper()
	c := container{t: t, root: t.TempDir(), config: config, isolated: os.Getuid() == 0}
	if !c.isolated {
		t.Log("not root: the image's command runs without a chroot, as this user")
	}
	c.extract(layer)
	version, err := output(c.command(nil, "version"))
	if err != nil || !strings.HasPrefix(version, "bailiff "+tag+"\ncommit ") || strings.Contains(version, "modified") {
		t.Fatalf("the image prints the version %q, %v", version, err)
	}
	public := c.policy()
	address, err := port.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	service := c.command([]string{"SVC_LISTEN=" + address, "SVC_ADMIN_LISTEN=off", "SVC_OPERATOR_PUBLIC_KEY=" + public}, config.Cmd...)
	service.Stdout, service.Stderr = &log, &log
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	err = healthy("http://" + address)
	if stop := service.Process.Signal(syscall.SIGTERM); stop != nil {
		t.Error(stop)
	}
	if end := service.Wait(); end != nil || err != nil {
		t.Errorf("the image's service: %v, %v\n%s", err, end, &log)
	}
}

// healthy waits until a service says that it lives and can decide.
func healthy(url string) (err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = ask(url + "/healthz"); err == nil {
			err = ask(url + "/readyz")
		}
		if err == nil {
			return nil
		}
	}
	return err
}

func ask(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %s", url, response.StatusCode, body)
	}
	return nil
}

// extract writes the files of the layer, as root with their owners.
func (c *container) extract(layer []byte) {
	c.t.Helper()
	headers, contents := unpack(c.t, layer)
	for _, header := range headers {
		path := filepath.Join(c.root, filepath.FromSlash(header.Name))
		var err error
		if strings.HasSuffix(header.Name, "/") {
			err = os.Mkdir(path, os.FileMode(header.Mode))
		} else {
			err = os.WriteFile(path, contents[header.Name], os.FileMode(header.Mode))
		}
		if err == nil && c.isolated {
			err = os.Chown(path, header.Uid, header.Gid)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
	if err := os.Chmod(c.root, 0o755); err != nil { // its user may enter its root
		c.t.Fatal(err)
	}
}

// policy puts a signed policy where the image expects it, and returns the operator's public key.
func (c *container) policy() string {
	c.t.Helper()
	outside := container{t: c.t, root: c.root} // the operator's machine, where the private key stays
	key, policy := filepath.Join(c.t.TempDir(), "operator.key"), filepath.Join(c.root, "config", "warranty.md")
	public, err := output(outside.command(nil, "keygen", "-o", key))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(policy, read(c.t, project, "cmd", "bailiff", "policy", "example", "warranty.md"), 0o644); err != nil {
		c.t.Fatal(err)
	}
	if _, err := output(outside.command(nil, "sign", "--key", key, policy)); err != nil {
		c.t.Fatal(err)
	}
	fields := strings.Fields(public)
	return fields[len(fields)-1]
}

// command is the image's entry point with arguments, and with settings beside the image's own.
func (c *container) command(settings []string, arguments ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(c.root, "bailiff"), arguments...)
	command.Env = append(slices.Clone(c.config.Env), settings...)
	if c.isolated {
		command.Path = c.config.Entrypoint[0]
		command.Dir = "/"
		isolate(command, c.root)
		return command
	}
	for i, setting := range command.Env {
		name, value, _ := strings.Cut(setting, "=")
		if filepath.IsAbs(value) {
			command.Env[i] = name + "=" + filepath.Join(c.root, value)
		}
	}
	return command
}
