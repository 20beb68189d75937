package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// rootPath is the path of the module at the root of the repository; the path of
// every other module adds its folder.
const rootPath = "github.com/sluice-go/sluice"

// published are the folders of the modules that get a tag: those that users install, and what
// these or their tests require. All other modules are of the repository alone.
var published = []string{
	".", "bindings/grpc", "bindings/otel", "bindings/prometheus", "bindings/wasmtime", "bindings/wazero", "cmd/sluice",
	"internal/oracle", "lint", "proxywasm", "proxywasm/host", "sim", "vectors", "wasm",
}

// modulePath returns the path of the module in a folder.
func modulePath(dir string) string { return path.Join(rootPath, dir) }

// own says whether a module is one of the repository's.
func own(module string) bool {
	return module == rootPath || strings.HasPrefix(module, rootPath+"/")
}

// tag returns the tag under which the go command finds a module of a version.
func tag(dir, version string) string { return path.Join(dir, version) }

func readWork(root string) (*modfile.WorkFile, error) {
	name := filepath.Join(root, "go.work")
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.ParseWork(name, src, nil)
}

func readMod(root, dir string) (*modfile.File, error) {
	name := filepath.Join(root, dir, "go.mod")
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, src, nil)
}

// workspace returns the folders of the modules of go.work.
func workspace(work *modfile.WorkFile) []string {
	var dirs []string
	for _, use := range work.Use {
		dirs = append(dirs, path.Clean(use.Path))
	}
	return dirs
}

// check returns the version at which the modules require each other. It fails
// when they could not be installed from tags of that version.
func check(root string) (string, error) {
	work, err := readWork(root)
	if err != nil {
		return "", err
	}
	versions := map[string]string{} // where by version
	required := map[string]bool{}
	for _, dir := range workspace(work) {
		mod, err := readMod(root, dir)
		if err != nil {
			return "", err
		}
		if mod.Module.Mod.Path != modulePath(dir) {
			return "", fmt.Errorf("%s/go.mod is of %s; the go command looks there for %s", dir, mod.Module.Mod.Path, modulePath(dir))
		}
		if len(mod.Replace) > 0 {
			return "", fmt.Errorf("%s/go.mod replaces %s; go install refuses a module with a replace directive", dir, mod.Replace[0].Old.Path)
		}
		for _, r := range mod.Require {
			if own(r.Mod.Path) {
				versions[r.Mod.Version] = dir + "/go.mod"
				required[r.Mod.Path] = true
			}
		}
	}
	for _, r := range work.Replace {
		if own(r.Old.Path) {
			versions[r.Old.Version] = "go.work"
			delete(required, r.Old.Path)
		}
	}
	for module := range required {
		return "", fmt.Errorf("go.work does not replace %s: the workspace would look for it in a module proxy", module)
	}
	if len(versions) != 1 {
		return "", fmt.Errorf("the modules require each other at several versions: %v", versions)
	}
	for version := range versions {
		if err := valid(version); err != nil {
			return "", err
		}
		return version, nil
	}
	panic("unreachable")
}

// valid says whether tags of a version work for modules without a major version
// in their paths.
func valid(version string) error {
	if version == "" || semver.Canonical(version) != version || semver.Compare(version, "v2.0.0-0") >= 0 {
		return fmt.Errorf("the version is %q; allowed: v0.N.N or v1.N.N, with or without a pre-release", version)
	}
	return nil
}

// set writes a version into go.work and every go.mod.
func set(root, version string) error {
	if err := valid(version); err != nil {
		return err
	}
	work, err := readWork(root)
	if err != nil {
		return err
	}
	for _, dir := range workspace(work) {
		mod, err := readMod(root, dir)
		if err != nil {
			return err
		}
		for _, r := range slices.Clone(mod.Require) {
			if own(r.Mod.Path) {
				if err := mod.AddRequire(r.Mod.Path, version); err != nil {
					return err
				}
			}
		}
		src, err := mod.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(mod.Syntax.Name, src, 0o644); err != nil {
			return err
		}
	}
	for _, r := range slices.Clone(work.Replace) {
		if !own(r.Old.Path) {
			continue
		}
		// In the line itself, so that its place and its comment stay.
		r.Syntax.Token[slices.Index(r.Syntax.Token, r.Old.Version)] = version
	}
	return os.WriteFile(work.Syntax.Name, modfile.Format(work.Syntax), 0o644)
}

// files returns the files of the repository at root that git has or would add,
// with slashes, sorted.
func files(root string) ([]string, error) {
	listed, err := git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var found []string
	for name := range strings.SplitSeq(strings.TrimSuffix(listed, "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name)))
		if err == nil && info.Mode().IsRegular() {
			found = append(found, name)
		} else if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// clean fails when the working tree is not as it is committed.
func clean(root string) error {
	changed, err := git(root, "status", "--porcelain")
	if err == nil && changed != "" {
		err = fmt.Errorf("the working tree has changes that are not committed:\n%s", changed)
	}
	return err
}

func git(root string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("git", append([]string{"-C", root}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, stderr.Bytes())
	}
	return string(out), nil
}

// source is a file of a module as package zip wants it.
type source struct{ name, from string }

func (s source) Path() string                 { return s.name }
func (s source) Lstat() (fs.FileInfo, error)  { return os.Lstat(s.from) }
func (s source) Open() (io.ReadCloser, error) { return os.Open(s.from) }
