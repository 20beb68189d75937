package envoy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Root returns the folder of the repository, which is above the present one.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tools", "envoy.sh")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("the present folder is outside the repository, which has tools/envoy.sh")
		}
		dir = parent
	}
}

// Binary returns the path of Envoy's program, which tools/envoy.sh installs when it is
// missing. The error says why it cannot be had.
var Binary = sync.OnceValues(func() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	var messages strings.Builder
	cmd := exec.Command(filepath.Join(root, "tools", "envoy.sh"))
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s (%w)", strings.TrimSpace(messages.String()), err)
	}
	return strings.TrimSpace(string(out)), nil
})

// version is in the middle of what the program prints: COMMIT/VERSION/Clean/RELEASE/BoringSSL.
var version = regexp.MustCompile(`/([0-9]+\.[0-9]+\.[0-9]+)/`)

// Version returns the version of Envoy's program.
func Version() (string, error) {
	binary, err := Binary()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(binary, "--version").Output()
	if err != nil {
		return "", err
	}
	found := version.FindSubmatch(out)
	if found == nil {
		return "", fmt.Errorf("envoy --version printed %q", out)
	}
	return string(found[1]), nil
}
