package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/policy"
)

const deploy = "../../../../deploy"

// commandLine reads and checks a command line of sluice serve as the command does,
// without running it, and returns how long the process may take to end.
func commandLine(t *testing.T, args []string) (end time.Duration) {
	t.Helper()
	require.NotEmpty(t, args)
	require.Equal(t, "serve", args[0])
	f := &serveFlags{}
	cmd := serveCommand(&Env{}, f)
	require.NoError(t, cmd.ParseFlags(args[1:]), args)
	require.Empty(t, cmd.Flags().Args(), args)
	require.Empty(t, f.check(cmd), args)
	return f.config.Drain + f.config.DrainDelay
}

// object is what the test reads of the objects of Kubernetes.
type object struct {
	Kind string
	Data map[string]string
	Spec struct {
		Selector any
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Grace          int         `yaml:"terminationGracePeriodSeconds"`
				InitContainers []container `yaml:"initContainers"`
				Containers     []container
				Volumes        []struct {
					Name      string
					ConfigMap struct{ Name string } `yaml:"configMap"`
				}
			}
		}
	}
	Metadata struct{ Name string }
}

type container struct {
	Name, Image string
	Args        []string
	Ports       []struct{ Name string }
	Startup     probe                            `yaml:"startupProbe"`
	Liveness    probe                            `yaml:"livenessProbe"`
	Readiness   probe                            `yaml:"readinessProbe"`
	Mounts      []struct{ Name, SubPath string } `yaml:"volumeMounts"`
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// TestKubernetes reads the manifest: its YAML, the policy, the flags and what has
// to fit together.
func TestKubernetes(t *testing.T) {
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(read(t, filepath.Join(deploy, "kubernetes.yaml")))))
	objects := map[string]object{}
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		objects[o.Kind] = o
	}
	require.Len(t, objects, 3)

	config := objects["ConfigMap"]
	doc, err := policy.Parse("policy.yaml", []byte(config.Data["policy.yaml"]))
	require.NoError(t, err)
	require.Len(t, doc.Policies, 1)

	pod := objects["Deployment"].Spec.Template.Spec
	require.Len(t, pod.InitContainers, 1)
	sidecar := pod.InitContainers[0]
	require.Greater(t, time.Duration(pod.Grace)*time.Second, commandLine(t, sidecar.Args))
	require.Equal(t, config.Metadata.Name, pod.Volumes[0].ConfigMap.Name)
	require.Equal(t, pod.Volumes[0].Name, sidecar.Mounts[0].Name)
	require.Empty(t, sidecar.Mounts[0].SubPath, "a file that is mounted so is never updated")
	require.Equal(t, objects["Service"].Spec.Selector, map[string]any{"app": objects["Deployment"].Spec.Template.Metadata.Labels["app"]})
	readme := read(t, "../../README.md")
	for _, p := range []probe{sidecar.Startup, sidecar.Liveness, sidecar.Readiness} {
		require.Contains(t, readme, "`"+p.Get.Path+"`")
		require.Equal(t, sidecar.Ports[1].Name, p.Get.Port)
	}
}

// TestUnit reads the unit of systemd.
func TestUnit(t *testing.T) {
	settings := map[string]string{}
	for line := range strings.Lines(read(t, filepath.Join(deploy, "sluice.service"))) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		require.True(t, ok, line)
		require.NotContains(t, settings, name)
		settings[name] = value
	}
	guide := read(t, "../../../../docs/deployment.md")
	_, flags, ok := strings.Cut(guide, "SLUICE_FLAGS=")
	require.True(t, ok)
	flags, _, _ = strings.Cut(flags, "'")
	command := strings.Fields(strings.ReplaceAll(settings["ExecStart"], "$SLUICE_FLAGS", flags))
	require.Equal(t, "/usr/local/bin/sluice", command[0])
	stop, err := time.ParseDuration(settings["TimeoutStopSec"])
	require.NoError(t, err)
	require.Greater(t, stop, commandLine(t, command[1:]))
}

// TestDockerfile makes sure that the image's build fetches nothing: its only base
// is empty, it copies from its context alone and runs nothing.
func TestDockerfile(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(deploy, "Dockerfile"))
	require.NoError(t, err)
	instructions := map[string][]string{}
	for line := range strings.Lines(string(src)) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			instructions[name] = append(instructions[name], rest)
		}
	}
	require.Equal(t, []string{"scratch"}, instructions["FROM"])
	require.Equal(t, []string{"linux_${TARGETARCH}/sluice /sluice"}, instructions["COPY"])
	require.Equal(t, []string{`["/sluice"]`}, instructions["ENTRYPOINT"])
	require.NotContains(t, instructions, "RUN")
	require.NotContains(t, instructions, "ADD")
}
