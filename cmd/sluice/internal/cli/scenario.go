package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/edit"
	"github.com/sluice-go/sluice/sim/goal"
	"github.com/sluice-go/sluice/sim/presets"
	"github.com/sluice-go/sluice/sim/scenario"
)

// scenarioSource is the source of a scenario, from which it is read with some settings
// changed.
type scenarioSource struct {
	file string
	src  []byte
	open scenario.Open
}

// presetPrefix is in front of the name of a preset, which is given in place of a file.
const presetPrefix = "preset:"

// scenario reads the source of a scenario: a file, standard input or a preset.
func (e *Env) scenario(name string) (*scenarioSource, error) {
	if preset, ok := strings.CutPrefix(name, presetPrefix); ok {
		src, err := presets.Open(preset)
		if err != nil {
			return nil, fail(ExitBad, err)
		}
		return &scenarioSource{file: preset + ".yaml", src: src}, nil
	}
	src, err := e.source(name)
	if err != nil {
		return nil, err
	}
	return &scenarioSource{file: fileOf(name), src: src, open: sim.Beside(name)}, nil
}

// with returns the scenario with some settings changed. The error is a policy.Errors, or
// says which setting is not there.
func (s *scenarioSource) with(settings []edit.Setting) (*sim.Scenario, error) {
	root, before := policy.Tree(s.file, s.src)
	if root == nil {
		return nil, before
	}
	for _, one := range settings {
		if err := edit.Set(root, one); err != nil {
			return nil, err
		}
	}
	return scenario.Read(s.file, root, before, s.open)
}

// wrongScenario prints the errors of a scenario, a line each with its place; another
// error is returned as one of the input.
func (e *Env) wrongScenario(err error) error {
	var errs policy.Errors
	if errors.As(err, &errs) {
		return e.wrong(err)
	}
	return fail(ExitBad, err)
}

// setUsage explains --set.
const setUsage = "change a setting of the scenario, as in clients.web.arrivals.poisson=200/s; may be repeated"

// parseSettings reads the values of --set.
func parseSettings(cmd *cobra.Command, texts []string) ([]edit.Setting, error) {
	settings := make([]edit.Setting, len(texts))
	for i, text := range texts {
		var err error
		if settings[i], err = edit.ParseSetting(text); err != nil {
			return nil, usage(cmd, "--set %v", err)
		}
	}
	return settings, nil
}

// parseGoals reads the values of a flag that has goals.
func parseGoals(cmd *cobra.Command, flag string, texts []string) ([]goal.Goal, error) {
	goals := make([]goal.Goal, len(texts))
	for i, text := range texts {
		var err error
		if goals[i], err = goal.Parse(text); err != nil {
			return nil, usage(cmd, "%s %v", flag, err)
		}
	}
	return goals, nil
}

// oneScenario completes the only argument of a command: a file, or a preset when the
// argument begins like one.
func oneScenario(_ *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if !strings.HasPrefix(begun, presetPrefix) {
		return documents(nil, nil, "")
	}
	for _, name := range presets.List() {
		if strings.HasPrefix(presetPrefix+name, begun) {
			names = append(names, presetPrefix+name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// progress returns what shows on standard error how much of some work is done, and what
// removes that; it shows nothing where standard error is no terminal.
func (e *Env) progress(what string) (show func(done, all int), end func()) {
	line, end := e.percentage()
	if line == nil {
		return nil, end
	}
	return func(done, all int) { line(100*done/all, fmt.Sprintf("%s: %d of %d", what, done, all)) }, end
}

// percentage returns what shows a percentage with a text in front on standard error
// whenever it changes, and what removes that. The first is nil where standard error is
// no terminal.
func (e *Env) percentage() (line func(percent int, text string), end func()) {
	if terminal(e.Stderr) == nil {
		return nil, func() {}
	}
	shown := -1
	line = func(percent int, text string) {
		if percent != shown {
			shown = percent
			fmt.Fprintf(e.Stderr, "\r%s, %d %%", text, percent)
		}
	}
	return line, func() {
		if shown >= 0 {
			fmt.Fprint(e.Stderr, "\r\x1b[K")
		}
	}
}

// terminal returns the terminal that a writer is, nil for none.
func terminal(w io.Writer) *os.File {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(file.Fd())) {
		return nil
	}
	return file
}
