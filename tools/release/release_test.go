package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// TestUsers does what users do with the modules at the version that go.mod files
// name, on a machine that has never seen the repository.
func TestUsers(t *testing.T) {
	version, err := check(root)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMachine(root, version, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("go install", func(t *testing.T) { installed(t, m, version) })
	t.Run("go get", func(t *testing.T) { imported(t, m, version) })
	t.Run("alone", func(t *testing.T) { alone(t, m, version) })
	t.Run("library", func(t *testing.T) { library(t, m, version) })
}

// user makes an empty module that requires a module of the repository.
func user(t *testing.T, m *machine, name, required, version string) {
	t.Helper()
	if err := os.MkdirAll(m.path(name), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mod", "init", "example.test/user"}, {"get", required + "@" + version}} {
		if _, err := m.run(name, nil, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// alone builds all packages of each published module from its zip and what its go.mod requires.
func alone(t *testing.T, m *machine, version string) {
	for i, dir := range published {
		name := fmt.Sprint("alone", i)
		user(t, m, name, modulePath(dir), version)
		pattern := modulePath(dir) + "/..."
		packages, err := m.command(name, nil, "list", "-e", "-f", "{{if .GoFiles}}{{.ImportPath}}{{end}}", pattern).Output()
		if err != nil || !bytes.Contains(packages, []byte(modulePath(dir))) {
			t.Errorf("%s: found %q, %v", dir, packages, err)
			continue
		}
		if _, err := m.run(name, nil, append([]string{"build", "-trimpath"}, strings.Fields(string(packages))...)...); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// most is the size in bytes that the zip of the library may have.
const most = 1_500_000

// library builds and vets a program of the packages of the library, which fetches one module of
// the repository and one of others, the reader of YAML.
func library(t *testing.T, m *machine, version string) {
	fresh := &machine{dir: t.TempDir(), proxy: m.proxy, cache: m.cache}
	if err := os.MkdirAll(fresh.path("user"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fresh.path("user/main.go"), []byte(libraryProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	user(t, fresh, "user", rootPath, version)
	for _, args := range [][]string{{"build", "-trimpath", "."}, {"vet", "."}} {
		if _, err := fresh.run("user", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	fetched, err := filepath.Glob(fresh.path("modules/cache/download/*/*/*/@v/*.zip"))
	deeper, _ := filepath.Glob(fresh.path("modules/cache/download/*/*/*/*/@v/*.zip"))
	if err != nil || len(fetched) != 2 || len(deeper) != 0 {
		t.Errorf("fetched %q %q, %v; want the library and the reader of YAML", fetched, deeper, err)
	}
	info, err := os.Stat(fresh.path("modules/cache/download/" + rootPath + "/@v/" + version + ".zip"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the zip of the library has %d bytes", info.Size())
	if info.Size() > most {
		t.Errorf("the zip of the library has %d bytes; allowed: %d. What the library does not need is in modules of its own", info.Size(), most)
	}
}

// libraryProgram imports what programs import of the library.
const libraryProgram = `package main

import (
	_ "github.com/sluice-go/sluice"
	_ "github.com/sluice-go/sluice/bindings/nethttp"
	_ "github.com/sluice-go/sluice/eval"
	_ "github.com/sluice-go/sluice/policy"
	_ "github.com/sluice-go/sluice/trace"
)

func main() {}
`

// installed installs the command by its path and version alone, and runs it.
func installed(t *testing.T, m *machine, version string) {
	binary, err := install(m, runtime.GOOS, runtime.GOARCH, version)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "sluice.exe")
	if err := os.WriteFile(name, binary, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.path("modules/" + modulePath("cmd/sluice") + "@" + version + "/" + licence)); err != nil {
		t.Error(err)
	}
	out, err := exec.Command(name, "version").CombinedOutput()
	if want := "sluice " + version + " go"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("sluice version: %v, %q; want %q", err, out, want)
	}
}

// imported gets the libraries into an empty module, and runs a program of them.
func imported(t *testing.T, m *machine, version string) {
	if err := os.WriteFile(m.path("empty/main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "init", "example.test/user"},
		{"get", rootPath + "@" + version, modulePath("bindings/grpc") + "@" + version, modulePath("bindings/otel") + "@" + version,
			modulePath("bindings/prometheus") + "@" + version, modulePath("bindings/wazero") + "@" + version},
	} {
		if _, err := m.run("empty", nil, args...); err != nil {
			t.Fatal(err)
		}
	}
	out, err := m.run("empty", nil, "run", "-trimpath", ".")
	if err != nil || !strings.Contains(out, "rejected") {
		t.Errorf("%v: %s", err, out)
	}
}

// program uses the libraries that README names.
const program = `package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sluice-go/sluice"
	sluicegrpc "github.com/sluice-go/sluice/bindings/grpc"
	"github.com/sluice-go/sluice/bindings/nethttp"
	sluiceotel "github.com/sluice-go/sluice/bindings/otel"
	sluiceprometheus "github.com/sluice-go/sluice/bindings/prometheus"
	sandbox "github.com/sluice-go/sluice/bindings/wazero"
	"github.com/sluice-go/sluice/policy"
)

func main() {
	doc, err := policy.Parse("a.yaml", []byte("version: 1\npolicies: {a: {steps: [limit: 1/1h]}}"))
	if err != nil {
		panic(err)
	}
	pipeline, err := sluice.New(doc.Policies[0].Policy)
	if err != nil {
		panic(err)
	}
	for range 2 {
		_, err = sluice.Do(context.Background(), pipeline, func(context.Context) (int, error) { return 1, nil })
	}
	fmt.Println(err)
	_ = http.Client{Transport: nethttp.NewTransport(nil, pipeline)}
	_ = sluicegrpc.UnaryClientInterceptor(pipeline)
	_ = sluiceotel.New
	_ = sluiceprometheus.New
	_ = sandbox.New
}
`

// TestSet writes another version into a copy of the files that name one.
func TestSet(t *testing.T) {
	work, err := readWork(root)
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir()
	for _, name := range append([]string{"go.work"}, modFiles(workspace(work))...) {
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(copied, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(copied, name), src, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := check(copied)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "1.2.3", "v1.2", "v2.0.0", "v1.2.3+x"} {
		if set(copied, bad) == nil {
			t.Errorf("the version %q was taken", bad)
		}
	}
	if err := set(copied, "v1.2.3-rc.1"); err != nil {
		t.Fatal(err)
	}
	if version, err := check(copied); err != nil || version != "v1.2.3-rc.1" {
		t.Errorf("%q, %v", version, err)
	}
	if err := run(copied, []string{"check", before}, io.Discard); err == nil {
		t.Errorf("the version before was found")
	}
	changed, err := os.ReadFile(filepath.Join(copied, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	original, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	if string(changed) != strings.ReplaceAll(string(original), before, "v1.2.3-rc.1") {
		t.Errorf("more than the version changed:\n%s", changed)
	}
	for _, line := range []string{
		"\nreplace " + rootPath + " => ../..\n",
		"\nrequire " + modulePath("bindings/wasmtime") + " v1.2.3-rc.1\n",
		"\nrequire " + modulePath("bindings/wazero") + " v1.2.4\n",
	} {
		damaged(t, copied, "bench/go.mod", line)
	}
}

func modFiles(dirs []string) []string {
	var names []string
	for _, dir := range dirs {
		names = append(names, filepath.Join(dir, "go.mod"))
	}
	return names
}

// damaged adds a line to a file, and expects check to fail.
func damaged(t *testing.T, root, name, line string) {
	t.Helper()
	name = filepath.Join(root, name)
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(src, line...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := check(root); err == nil {
		t.Errorf("check takes %q", line)
	}
	if err := os.WriteFile(name, src, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPublished looks for a module of the repository that users need and that
// gets no tag.
func TestPublished(t *testing.T) {
	for _, dir := range published {
		mod, err := readMod(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range mod.Require {
			if own(r.Mod.Path) && !slices.ContainsFunc(published, func(dir string) bool { return modulePath(dir) == r.Mod.Path }) {
				t.Errorf("%s requires %s, which is not published", mod.Module.Mod.Path, r.Mod.Path)
			}
		}
	}
}

// TestDropOwn keeps the lines of all other modules.
func TestDropOwn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "go.sum")
	const others = "example.test/a v1.0.0 h1:a=\ngithub.com/sluice-go/sluicer v1.0.0 h1:b=\n"
	ours := rootPath + " v0.1.0 h1:c=\n" + modulePath("bindings/wazero") + " v0.1.0/go.mod h1:d=\n"
	if err := os.WriteFile(name, []byte(others+ours), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dropOwn(name); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadFile(name); err != nil || string(left) != others {
		t.Errorf("%v, %q", err, left)
	}
}

// TestPack packs the same files twice, and reads them again.
func TestPack(t *testing.T) {
	entries := []entry{{"LICENSE", 0o644, []byte("text")}, {"sluice", 0o755, []byte{0, 1, 2}}}
	at := time.Unix(1_700_000_000, 0).UTC()
	for name, pack := range map[string]func(io.Writer, string, []entry, time.Time) error{"tar": packTar, "zip": packZip} {
		var one, other bytes.Buffer
		if err := errors.Join(pack(&one, "folder", entries, at), pack(&other, "folder", entries, at)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), other.Bytes()) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
		var found []string
		if name == "tar" {
			found = listTar(t, &one)
		} else {
			found = listZip(t, one.Bytes())
		}
		want := []string{"folder/LICENSE -rw-r--r-- 4 1700000000", "folder/sluice -rwxr-xr-x 3 1700000000"}
		if !slices.Equal(found, want) {
			t.Errorf("%s: found %q, want %q", name, found, want)
		}
	}
}

func listTar(t *testing.T, archive io.Reader) (found []string) {
	t.Helper()
	compressed, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	packed := tar.NewReader(compressed)
	for {
		header, err := packed.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, describe(header.Name, header.FileInfo()))
	}
}

func listZip(t *testing.T, archive []byte) (found []string) {
	t.Helper()
	packed, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range packed.File {
		found = append(found, describe(file.Name, file.FileInfo()))
	}
	return found
}

func describe(name string, info os.FileInfo) string {
	return fmt.Sprint(name, " ", info.Mode(), " ", info.Size(), " ", info.ModTime().Unix())
}
