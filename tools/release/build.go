package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// allTargets are the operating systems and architectures of a release.
var allTargets = []string{
	"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64",
}

// The names in the folder of a release.
const (
	sums  = "SHA256SUMS"
	image = "image" // the context of the image's build
)

// builder builds a release.
type builder struct {
	root, version string
	targets       []string
	out           io.Writer
}

// entry is a file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// buildTwice builds, builds again with an empty build cache, and fails when a
// file differs.
func (b *builder) buildTwice(dist string) error {
	if err := b.build(dist, ""); err != nil {
		return err
	}
	again, err := os.MkdirTemp("", "sluice-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(again)
	second := filepath.Join(again, "dist")
	if err := b.build(second, filepath.Join(again, "cache")); err != nil {
		return err
	}
	if err := same(dist, second); err != nil {
		return err
	}
	fmt.Fprintln(b.out, "a second build with an empty cache is byte-equal")
	return nil
}

// same compares the files of two releases by their checksums.
func same(one, other string) error {
	first, err := os.ReadFile(filepath.Join(one, sums))
	if err != nil {
		return err
	}
	second, err := os.ReadFile(filepath.Join(other, sums))
	if err != nil {
		return err
	}
	if !bytes.Equal(first, second) {
		return fmt.Errorf("two builds differ:\n%s\nand\n%s", first, second)
	}
	return nil
}

// build replaces dist by a release. cache is the build cache; the user's when it
// is empty.
func (b *builder) build(dist, cache string) error {
	at, err := b.time()
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "sluice-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	m, err := newMachine(b.root, b.version, temporary)
	if err != nil {
		return err
	}
	m.cache = cache
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dist, image), 0o755); err != nil {
		return err
	}
	var written []string
	for _, target := range b.targets {
		names, err := b.target(m, dist, target, at)
		if err != nil {
			return err
		}
		written = append(written, names...)
	}
	dockerfile := filepath.Join(image, "Dockerfile")
	content, err := os.ReadFile(filepath.Join(b.root, "deploy", "Dockerfile"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dist, dockerfile), content, 0o644); err != nil {
		return err
	}
	return b.sums(dist, append(written, dockerfile))
}

// time returns the time that the files of archives have: SOURCE_DATE_EPOCH, or
// the time of the commit.
func (b *builder) time() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = git(b.root, "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the release: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// target builds the archive of a target, and for Linux the binary of the image.
// It returns the names of both below dist.
func (b *builder) target(m *machine, dist, target string, at time.Time) ([]string, error) {
	system, arch, ok := strings.Cut(target, "/")
	if !ok || !slices.Contains(allTargets, target) {
		return nil, fmt.Errorf("the target is %q; allowed: %s", target, strings.Join(allTargets, ", "))
	}
	fmt.Fprintln(b.out, "building", target)
	content, err := install(m, system, arch, b.version)
	if err != nil {
		return nil, err
	}
	entries := []entry{{"sluice", 0o755, content}}
	if system == "windows" {
		entries[0].name = "sluice.exe"
	}
	for name, from := range map[string]string{licence: licence, "README.md": "cmd/sluice/README.md", "CHANGELOG.md": "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(b.root, filepath.FromSlash(from)))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, 0o644, text})
	}
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(x.name, y.name) })

	var packed bytes.Buffer
	name := fmt.Sprintf("sluice_%s_%s_%s", b.version, system, arch)
	pack, suffix := packTar, ".tar.gz"
	if system == "windows" {
		pack, suffix = packZip, ".zip"
	}
	if err := pack(&packed, name, entries, at); err != nil {
		return nil, err
	}
	names := []string{name + suffix}
	if err := os.WriteFile(filepath.Join(dist, name+suffix), packed.Bytes(), 0o644); err != nil {
		return nil, err
	}
	if system == "linux" {
		binary := filepath.Join(image, system+"_"+arch, "sluice")
		names = append(names, binary)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dist, binary)), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dist, binary), content, 0o755); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// install runs go install of the command and returns the binary.
func install(m *machine, system, arch, version string) ([]byte, error) {
	variables := []string{"GOOS=" + system, "GOARCH=" + arch}
	_, err := m.run("empty", variables, "install", "-trimpath", "-ldflags=-s -w", modulePath("cmd/sluice")+"@"+version)
	if err != nil {
		return nil, err
	}
	name := "sluice"
	if system == "windows" {
		name += ".exe"
	}
	// The go command has a folder for each target but the machine's own.
	bin := filepath.Join(m.path("path"), "bin")
	content, err := os.ReadFile(filepath.Join(bin, system+"_"+arch, name))
	if errors.Is(err, os.ErrNotExist) {
		content, err = os.ReadFile(filepath.Join(bin, name))
	}
	return content, err
}

// packTar packs entries below a folder, with nothing of the machine in it.
func packTar(w io.Writer, folder string, entries []entry, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	packed := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: folder + "/" + e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: at,
			Format: tar.FormatUSTAR,
		}
		if err := packed.WriteHeader(header); err != nil {
			return err
		}
		if _, err := packed.Write(e.content); err != nil {
			return err
		}
	}
	return errors.Join(packed.Close(), compressed.Close())
}

// packZip is packTar for Windows.
func packZip(w io.Writer, folder string, entries []entry, at time.Time) error {
	packed := zip.NewWriter(w)
	for _, e := range entries {
		header := &zip.FileHeader{Name: folder + "/" + e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(e.mode))
		file, err := packed.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.content); err != nil {
			return err
		}
	}
	return packed.Close()
}

// sums writes the checksums in the form that sha256sum -c reads.
func (b *builder) sums(dist string, names []string) error {
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(name))
	}
	fmt.Fprint(b.out, text.String())
	return os.WriteFile(filepath.Join(dist, sums), []byte(text.String()), 0o644)
}
