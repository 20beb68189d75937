package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"

	"github.com/sluice-go/sluice/cmd/sluice/internal/wholefile"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/report"
)

// writeReports writes the page and the picture of a result.
func (e *Env) writeReports(f *simulateFlags, file string, source *scenarioSource, s *sim.Scenario, r *sim.Result) error {
	var out bytes.Buffer
	if f.svg != "" {
		if err := report.SVG(&out, r, report.SVGOptions{Lanes: f.lanes, Title: titleOf(file)}); err != nil {
			return bad("--%w", err)
		}
		if err := writeReport(f.svg, &out); err != nil {
			return err
		}
	}
	if f.html == "" {
		return nil
	}
	sources, err := f.sources(file, source, s)
	if err != nil {
		return err
	}
	must(report.HTML(&out, &report.Page{
		Title: titleOf(file), Scenario: s, Result: r, Sources: sources, Version: release(buildInfo()), Command: f.again(file, r.Seed),
	}))
	return writeReport(f.html, &out)
}

// writeReport writes a report to a file of a name.
func writeReport(name string, content *bytes.Buffer) error {
	err := wholefile.Write(name, func(w io.Writer) error {
		_, err := content.WriteTo(w)
		return err
	})
	if err != nil {
		return fail(ExitBad, err)
	}
	return nil
}

// titleOf names a scenario in a report.
func titleOf(file string) string {
	if file == stdinName {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

// sources returns the documents of a scenario, and what --set has changed.
func (f *simulateFlags) sources(file string, source *scenarioSource, s *sim.Scenario) ([]report.Source, error) {
	all := []report.Source{{Name: source.file, Text: string(source.src)}}
	if len(f.set) > 0 {
		all = append(all, report.Source{Name: "--set", Text: strings.Join(f.set, "\n")})
	}
	if name := s.PolicyFile; name != "" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, bad("cannot read %s: %w", name, cause(err))
		}
		all = append(all, report.Source{Name: s.PolicyFile, Text: string(src)})
	}
	return all, nil
}

// plainWord is a word that a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w./:=@%+,-]+$`)

// again is the command line that writes the same page once more.
func (f *simulateFlags) again(file string, seed uint64) string {
	words := []string{"sluice", "simulate", "--seed", strconv.FormatUint(seed, 10)}
	for _, one := range f.set {
		words = append(words, "--set", one)
	}
	words = append(words, "--html", f.html, file)
	for i, word := range words {
		if !plainWord.MatchString(word) {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// printResult prints a result as JSON, or as a table, on a terminal as wide as that and
// with the colours that it takes.
func (e *Env) printResult(f *simulateFlags, file string, r *sim.Result) error {
	if f.json {
		return e.print(r.AppendJSON(nil))
	}
	o := report.TextOptions{Title: titleOf(file)}
	var out bytes.Buffer
	var to io.Writer = &out
	if file := terminal(e.Stdout); file != nil {
		lipgloss.EnableLegacyWindowsANSI(file)
		o.Colour = true
		o.Width, _, _ = term.GetSize(int(file.Fd()))
		to = &colorprofile.Writer{Forward: &out, Profile: colorprofile.Detect(file, os.Environ())}
	}
	must(report.Text(to, r, o))
	return e.print(out.Bytes())
}
