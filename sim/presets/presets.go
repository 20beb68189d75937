// Package presets has scenarios of the simulator that each show one effect: what
// happens, why, and what to change. The description of a preset says so; the page
// docs/simulation.md has a table of all of them with their numbers.
package presets

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/sim"
)

//go:embed *.yaml
var files embed.FS

// List returns the names of all presets, in the order of the alphabet.
func List() []string {
	entries, err := files.ReadDir(".")
	if err != nil { // the files are part of the program
		panic(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names) // without the ending, which has another place in the alphabet
	return names
}

// Open returns the document of a preset. The error names the presets there are.
func Open(name string) ([]byte, error) {
	src, err := files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("preset: found %q; allowed: %s", name, strings.Join(List(), ", "))
	}
	return src, nil
}

// Load returns the scenario of a preset. Open says which errors there are.
func Load(name string) (*sim.Scenario, error) {
	src, err := Open(name)
	if err != nil {
		return nil, err
	}
	return sim.Parse(name+".yaml", src, nil)
}
