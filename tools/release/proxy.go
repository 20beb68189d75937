package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// licence is the file that the go command adds to a module in a folder that has
// none of its own.
const licence = "LICENSE"

// writeProxy writes the published modules of the working tree to a folder that
// the go command can use as a module proxy.
func writeProxy(root, version, dir string) error {
	all, err := files(root)
	if err != nil {
		return err
	}
	for _, published := range published {
		if err := writeModule(root, published, version, dir, all); err != nil {
			return fmt.Errorf("%s: %w", modulePath(published), err)
		}
	}
	return nil
}

// writeModule writes one of them.
func writeModule(root, folder, version, dir string, all []string) error {
	var sources []zip.File
	for _, name := range all {
		if inside, ok := strings.CutPrefix(path.Join("/", name), path.Join("/", folder)+"/"); ok || folder == "." {
			if folder == "." {
				inside = name
			}
			sources = append(sources, source{inside, filepath.Join(root, filepath.FromSlash(name))})
		}
	}
	if !slices.ContainsFunc(sources, func(f zip.File) bool { return f.Path() == licence }) {
		sources = append(sources, source{licence, filepath.Join(root, licence)})
	}
	escaped, err := module.EscapePath(modulePath(folder))
	if err != nil {
		return err
	}
	versions := filepath.Join(dir, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(versions, name), content, 0o644); err != nil {
			return err
		}
	}
	file, err := os.Create(filepath.Join(versions, version+".zip"))
	if err != nil {
		return err
	}
	defer file.Close()
	// Files of modules in deeper folders are left out here.
	if err := zip.Create(file, module.Version{Path: modulePath(folder), Version: version}, sources); err != nil {
		return err
	}
	return file.Close()
}

// machine is a folder in which the go command works as on a machine that has
// never seen the repository: with a module cache of its own, and without the
// workspace and the settings of the user.
type machine struct {
	dir   string
	proxy string // the value of GOPROXY
	cache string // of builds; empty for the user's
}

// newMachine makes one in a folder, with a module proxy of the working tree.
// Other modules come from the module cache of the user, and where it has not
// got them, from the module proxy of the user.
func newMachine(root, version, dir string) (*machine, error) {
	proxy := filepath.Join(dir, "proxy")
	if err := writeProxy(root, version, proxy); err != nil {
		return nil, err
	}
	user, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	cache, fallback, _ := strings.Cut(strings.TrimSpace(string(user)), "\n")
	m := &machine{dir: dir}
	m.proxy = strings.Join([]string{fileURL(proxy), fileURL(filepath.Join(cache, "cache", "download")), fallback}, ",")
	return m, os.MkdirAll(m.path("empty"), 0o755)
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

// command returns a go command that runs in a folder of the machine, with more
// variables.
func (m *machine) command(folder string, more []string, args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = m.path(folder)
	cmd.Env = slices.Concat(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GO") && !strings.HasPrefix(v, "GOCACHE=") && !strings.HasPrefix(v, "GOROOT=") || strings.HasPrefix(v, "CGO_")
	}), []string{
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod -modcacherw", "GOSUMDB=off",
		"GOPROXY=" + m.proxy, "GOMODCACHE=" + m.path("modules"), "GOPATH=" + m.path("path"), "CGO_ENABLED=0",
	}, more)
	if m.cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+m.cache)
	}
	return cmd
}

// run runs a go command and returns what it printed.
func (m *machine) run(folder string, more []string, args ...string) (string, error) {
	out, err := m.command(folder, more, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
