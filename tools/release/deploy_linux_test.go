package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// objects decodes a manifest into the types of Kubernetes. A field that they do not have
// is an error.
func objects(manifest []byte) (list []k8sruntime.Object, err error) {
	scheme := k8sruntime.NewScheme()
	for _, add := range []func(*k8sruntime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for text := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, object)
	}
	return list, nil
}

func readManifest(t *testing.T) (raw []byte, config *corev1.ConfigMap, pod *corev1.PodSpec) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := objects(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range list {
		switch o := object.(type) {
		case *corev1.ConfigMap:
			config = o
		case *appsv1.Deployment:
			pod = &o.Spec.Template.Spec
		}
	}
	if config == nil || pod == nil || len(pod.InitContainers) != 1 {
		t.Fatalf("kubernetes.yaml has %v", list)
	}
	return raw, config, pod
}

// TestManifestIsStrict has an unknown field in each object be an error.
func TestManifestIsStrict(t *testing.T) {
	raw, _, _ := readManifest(t)
	for _, name := range []string{"data:", "replicas:", "failureThreshold:", "mountPath:", "selector:"} {
		harmed := bytes.Replace(raw, []byte(name), []byte("x"+name), 1)
		if _, err := objects(harmed); err == nil || !strings.Contains(err.Error(), "unknown field") {
			t.Errorf("x%s is accepted: %v", name, err)
		}
	}
}

// dockerfile are the instructions of the image, each with its words.
func dockerfile(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			found[words[0]] = words[1:]
		}
	}
	return found
}

// layOut makes the root folder of the image from the binary of a release, as the
// Dockerfile says, and returns its entry point and user.
func layOut(t *testing.T, at string) (entry string, user uint32) {
	t.Helper()
	version, err := check(root)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMachine(root, version, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := install(m, "linux", runtime.GOARCH, version)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Fatal("the binary needs an interpreter, which the image has not")
		}
	}
	image := dockerfile(t)
	if from := strings.ReplaceAll(image["COPY"][0], "${TARGETARCH}", runtime.GOARCH); from != "linux_"+runtime.GOARCH+"/sluice" {
		t.Fatalf("the image copies %s", from)
	}
	if err := os.WriteFile(filepath.Join(at, image["COPY"][1]), binary, 0o755); err != nil {
		t.Fatal(err)
	}
	var words []string
	if err := json.Unmarshal([]byte(strings.Join(image["ENTRYPOINT"], " ")), &words); err != nil || len(words) != 1 {
		t.Fatal(words, err)
	}
	id, _, _ := strings.Cut(image["USER"][0], ":")
	number, err := strconv.ParseUint(id, 10, 32)
	if err != nil || number == 0 {
		t.Fatalf("the image has user %s, %v", id, err)
	}
	return words[0], uint32(number)
}

// ownNetwork gives this thread, and what it starts, a network of its own with a loopback.
// The thread ends with its goroutine.
func ownNetwork(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); errors.Is(err, unix.EPERM) {
		t.Skip("a network of its own needs CAP_SYS_ADMIN")
	} else if err != nil {
		t.Fatal(err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		t.Fatal(err)
	}
}

// fetch sends a GET from this thread, whose network http.Client would not use.
func fetch(t *testing.T, port int32, path string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestPod runs the image with the arguments, the policy, the user and the read-only root
// of the manifest, in a network of its own: its ports and its probes answer. It needs root.
func TestPod(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the root folder and the network of a process need root")
	}
	_, config, pod := readManifest(t)
	sidecar := pod.InitContainers[0]
	folder := t.TempDir()
	entry, user := layOut(t, folder)
	for name, text := range config.Data {
		mounted := filepath.Join(folder, sidecar.VolumeMounts[0].MountPath, name)
		if err := os.MkdirAll(filepath.Dir(mounted), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(mounted, []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	// As an emptyDir is.
	state := filepath.Join(folder, sidecar.VolumeMounts[1].MountPath)
	if err := os.MkdirAll(state, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(state, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o555); err != nil {
		t.Fatal(err)
	}

	ownNetwork(t)
	app, err := net.Listen("tcp", env(pod.Containers[0], "LISTEN"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_,
			_ = io.WriteString(w, "app "+r.URL.Path)
	})}
	go server.Serve(app)
	defer server.Close()

	cmd := exec.Command(entry, sidecar.Args...)
	cmd.Env = []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: folder, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
	cmd.Dir = "/"
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		t.Log(strings.TrimSpace(line))
		if strings.Contains(line, `"serving"`) {
			break
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		ended <- cmd.Wait()
	}()

	port := func(name string) int32 {
		at := slices.IndexFunc(sidecar.Ports, func(p corev1.ContainerPort) bool { return p.Name == name })
		if at < 0 {
			t.Fatalf("the sidecar has no port %s", name)
		}
		return sidecar.Ports[at].ContainerPort
	}
	if status, body := fetch(t, port("http"), "/x"); status != 200 || body != "app /x" {
		t.Errorf("the application: %d %q", status, body)
	}
	probes := map[string]*corev1.Probe{"startup": sidecar.StartupProbe, "liveness": sidecar.LivenessProbe, "readiness": sidecar.ReadinessProbe}
	probe := func(name string, want int) {
		t.Helper()
		get := probes[name].HTTPGet
		if status, body := fetch(t, port(get.Port.StrVal), get.Path); status != want {
			t.Errorf("the probe %s: %d %q, want %d", name, status, body, want)
		}
	}
	for name := range probes {
		probe(name, 200)
	}
	for found := false; !found; {
		_, err := os.Stat(filepath.Join(state, "state"))
		found = err == nil
	}
	server.Close()
	if status, _ := fetch(t, port("http"), "/x"); status != 502 {
		t.Errorf("without the application: %d", status)
	}
	probe("readiness", 503)
	probe("liveness", 200)
	// The first signal begins --drain-delay, the second ends the process.
	signal := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	for body := ""; body != "draining\n"; {
		get := probes["readiness"].HTTPGet
		_, body = fetch(t, port(get.Port.StrVal), get.Path)
	}
	probe("liveness", 200)
	signal()
	if err := <-ended; err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the end of the process: %v", err)
	}
}

// env is the value of a variable of a container.
func env(c corev1.Container, name string) string {
	for _, v := range c.Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}
