package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/goal"
	"github.com/sluice-go/sluice/sim/report"
)

// run is a scenario that has been simulated.
type run struct {
	scenario *sim.Scenario
	result   *sim.Result
	figures  *goal.Figures
}

// guides are the pages of a directory while they are written.
type guides struct {
	dir   string
	runs  map[string]*run
	files map[string][]byte
}

// draw returns the guides of a directory and their pictures by file name, as they should
// be.
func draw(dir string) (map[string][]byte, error) {
	g := guides{dir, map[string]*run{}, map[string][]byte{}}
	pages, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		if err := g.page(filepath.Base(page)); err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
	}
	return g.files, nil
}

// begin is how the comments begin that the command reads.
var begin = regexp.MustCompile(`<!-- (?:picture|table|figure)\b`)

// part is a comment with what it says: of a picture with its file, of a table and a
// number with all up to their end.
var part = regexp.MustCompile(`(?s)<!-- (picture|table|figure) ([a-z-]+): ([^>\n]*) -->(?:\n!\[[^\]]*\]\((\S+)\)|(.*?)<!-- end -->)`)

// page draws the pictures of a guide, and puts its figures into its text.
func (g *guides) page(name string) error {
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return err
	}
	if whole, begun := len(part.FindAll(text, -1)), len(begin.FindAll(text, -1)); whole != begun {
		return fmt.Errorf("found %d comments, of which %d have a scenario, a colon and an end", begun, whole)
	}
	g.files[name] = part.ReplaceAllFunc(text, func(found []byte) []byte {
		m := part.FindStringSubmatch(string(found))
		r, fail := g.run(m[2])
		if fail == nil {
			var now string
			switch now = m[0]; m[1] {
			case "picture":
				fail = g.picture(m[4], r, strings.Split(m[3], ", "))
			case "table":
				now, fail = r.table(m[3])
				now = strings.TrimSuffix(m[0], m[5]+end) + "\n" + now + end
			case "figure":
				now, fail = r.number(m[3])
				now = strings.TrimSuffix(m[0], m[5]+end) + now + end
			}
			found = []byte(now)
		}
		if fail != nil && err == nil {
			err = fmt.Errorf("%s %s: %w", m[1], m[2], fail)
		}
		return found
	})
	return err
}

// end is behind a table and a number.
const end = "<!-- end -->"

// run simulates a scenario once.
func (g *guides) run(name string) (*run, error) {
	if r := g.runs[name]; r != nil {
		return r, nil
	}
	s, err := sim.Load(filepath.Join(g.dir, "scenarios", name+".yaml"))
	if err != nil {
		return nil, err
	}
	result, err := sim.Run(s, sim.Options{})
	if err != nil {
		return nil, err
	}
	g.runs[name] = &run{s, result, goal.Of(result)}
	return g.runs[name], nil
}

// picture draws lanes of a run into a file.
func (g *guides) picture(file string, r *run, lanes []string) error {
	if file == "" {
		return errors.New("found no picture behind it")
	}
	var out bytes.Buffer
	if err := report.SVG(&out, r.result, report.SVGOptions{Lanes: lanes, Height: 90}); err != nil {
		return err
	}
	g.files[file] = out.Bytes()
	return nil
}
