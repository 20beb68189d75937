// Command empty writes a settings_gen.go without settings into the folders of mechanisms:
//
//	go run ./gen/empty core/NAME
//
// The generator links the mechanisms, and a new one has nothing to link yet: this file lets it compile,
// and make generate then writes the whole. Where the file of another mechanism does not compile, take
// the committed one.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const text = `package %s

import (
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/reducer"
)

func settings() []mechanism.Setting { return nil }

type draft struct{ c Config }

func (d *draft) Field(string) any         { return nil }
func (d *draft) Config() mechanism.Config { return d.c }
func (d *draft) compare(mechanism.Given)  {}

// Plan codes nothing.
func Plan(*Config, *planwire.Coder) {}

func (c Config) filled() Config                { return c }
func (c *Config) check(*reducer.ConfigErrors) {}
`

func main() {
	for _, folder := range os.Args[1:] {
		path := filepath.Join(folder, "settings_gen.go")
		if err := os.WriteFile(path, fmt.Appendf(nil, text, filepath.Base(folder)), 0o644); err != nil { //nolint:gosec // a source file
			fmt.Fprintln(os.Stderr, "empty:", err)
			os.Exit(1)
		}
	}
}
