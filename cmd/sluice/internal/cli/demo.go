package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sluice-go/sluice/cmd/sluice/internal/demo"
	"github.com/sluice-go/sluice/cmd/sluice/internal/wholefile"
	"github.com/sluice-go/sluice/policy"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	duration      time.Duration
	seed          uint64
	policy, name  string
	html          string
	noHTML, plain bool
	simulated     bool
}

func newDemo(env *Env) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo [flags]",
		Short: "Show a service that browns out, with no policy, by hand and with a policy",
		Long: `demo runs three copies of a small service on free ports of 127.0.0.1 and sends all
the same calls. Halfway all brown out: first every request fails, then each takes
four times as long. The callers of the first try again at once, three times in all.
Those of the second have what people write by hand: timeouts, backoff with jitter
and a budget of retries. Those of the third go through a policy. What is shown is
measured on real HTTP requests.

It takes 17 seconds: calls come for 15, and the last of them may take 2 more. It
shows them live in a terminal (as a line a second without one, or with --plain),
then prints a table and writes a page with charts, one HTML file that needs nothing
else. NO_COLOR turns the colours off.

With --simulated the same story is told in virtual time, by the simulator: nothing
listens, and it takes two seconds in a terminal and less than one without.`,
		Example: `  sluice demo
  sluice demo --simulated
  sluice demo --duration 30s --seed 7 --html brown-out.html
  sluice demo --policy vendor.yaml --no-html`,
		Args:              withArgs(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.duration < demo.MinDuration || f.duration > demo.MaxDuration {
				return usage(cmd, "--duration %s is not between %s and %s", f.duration, demo.MinDuration, demo.MaxDuration)
			}
			if f.noHTML && cmd.Flags().Changed("html") {
				return usage(cmd, "--html and --no-html contradict each other")
			}
			if f.html == "" && !f.noHTML {
				return usage(cmd, "--html needs a file; --no-html writes none")
			}
			if f.name != "" && f.policy == "" {
				return usage(cmd, "--name needs --policy FILE")
			}
			return env.demo(cmd.Context(), &f)
		},
	}
	flags := cmd.Flags()
	flags.DurationVarP(&f.duration, "duration", "d", demo.DefaultDuration,
		"for how long calls come, the last of which may take 2s more; under 10s the storm of retries has little time to build up")
	flags.Uint64Var(&f.seed, "seed", 1, "the seed of the calls and of the work that they need")
	flags.StringVarP(&f.policy, "policy", "p", "", "a policy document of your own, YAML or JSON; - is standard input")
	flags.StringVarP(&f.name, "name", "n", "", "which policy of the document; needed when it has several")
	flags.StringVar(&f.html, "html", "sluice-demo.html", "the page to write")
	flags.BoolVar(&f.noHTML, "no-html", false, "write no page")
	flags.BoolVar(&f.simulated, "simulated", false, "simulate it in virtual time")
	flags.BoolVar(&f.plain, "plain", false, "print a line a second instead of panels")
	must(cmd.RegisterFlagCompletionFunc("policy", documents))
	must(cmd.RegisterFlagCompletionFunc("name", completeNames(func(*cobra.Command, []string) string { return f.policy })))
	must(cmd.RegisterFlagCompletionFunc("duration", cobra.NoFileCompletions))
	must(cmd.RegisterFlagCompletionFunc("seed", cobra.NoFileCompletions))
	return cmd
}

// demo runs the demonstration and shows it.
func (e *Env) demo(ctx context.Context, f *demoFlags) error {
	source, one, err := e.demoPolicy(f)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := e.demoScreen(f.plain)
	view, err := f.run(ctx, one, s)
	if endErr := s.end(); err == nil {
		err = endErr
	}
	if err == nil {
		sums := view.Summaries()
		table := "\n" + demo.Table(demo.Rows(view.Scenario, &sums), s.heading)
		if busy := demo.Busy(&sums); busy != "" {
			table += "\n" + busy + "\n"
		}
		_, err = io.WriteString(s.out, table)
	}
	switch {
	case s.raw.err != nil:
		return outputError(s.raw.err)
	case err != nil:
		return fail(ExitFailed, err)
	case f.noHTML:
		return nil
	}
	report := &demo.Report{View: view, Policy: one, Document: source, Version: builtBy(), Command: f.again()}
	err = wholefile.Write(f.html, func(w io.Writer) error { return demo.WritePage(w, report) })
	if err != nil {
		return fail(ExitFailed, err)
	}
	return e.print(fmt.Appendf(nil, "\npage with charts: %s\n", f.html))
}

// simulatedPace is how long a terminal shows a simulated run.
const simulatedPace = 2 * time.Second

// run measures or simulates.
func (f *demoFlags) run(ctx context.Context, one *policy.Policy, s *demoScreen) (demo.View, error) {
	scenario := demo.NewScenario(f.seed, f.duration)
	if !f.simulated {
		return demo.Run(ctx, scenario, one, s.display)
	}
	pace := time.Duration(0)
	if _, live := s.display.(*demo.Live); live {
		pace = simulatedPace
	}
	return demo.Simulate(ctx, scenario, one, s.display, pace)
}

// demoPolicy reads the policy to show, and its source.
func (e *Env) demoPolicy(f *demoFlags) (source string, one *policy.Policy, err error) {
	file, src := "policy.yaml", demo.DefaultPolicy
	if f.policy != "" {
		file = f.policy
		if src, err = e.source(file); err != nil {
			return "", nil, err
		}
	}
	doc, err := policy.Parse(fileOf(file), src)
	if err != nil {
		return "", nil, e.wrong(err)
	}
	one, err = pick(doc, file, f.name)
	return string(src), one, err
}

// demoScreen is where and how a run is shown.
type demoScreen struct {
	display demo.Display
	raw     *output             // standard output
	out     io.Writer           // raw, with the colours that it takes
	heading func(string) string // styles the table's
	end     func() error
}

// demoScreen finds out what standard output can show.
func (e *Env) demoScreen(plain bool) *demoScreen {
	raw := &output{to: e.Stdout}
	s := &demoScreen{
		display: &demo.Plain{Out: raw}, raw: raw, out: raw,
		heading: func(text string) string { return text },
		end:     func() error { return nil },
	}
	file := terminal(e.Stdout)
	if file == nil || plain {
		return s
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil || width < demo.MinWidth || height < demo.MinHeight {
		return s
	}
	lipgloss.EnableLegacyWindowsANSI(file)
	s.out = &colorprofile.Writer{Forward: raw, Profile: colorprofile.Detect(file, os.Environ())}
	live := &demo.Live{Out: s.out, Width: func() int {
		if now, _, err := term.GetSize(int(file.Fd())); err == nil {
			width = now
		}
		return width
	}}
	s.display, s.heading, s.end = live, demo.Bold, live.Close
	return s
}

// builtBy says what measured, for the page.
func builtBy() string {
	return fmt.Sprintf("%s, %d processors", versionLine(buildInfo()), runtime.NumCPU())
}

// again is the command line that runs the same once more.
func (f *demoFlags) again() string {
	line := fmt.Sprintf("sluice demo --seed %d --duration %s", f.seed, f.duration)
	if f.simulated {
		line += " --simulated"
	}
	if f.policy != "" {
		line += " --policy " + f.policy
	}
	if f.name != "" {
		line += " --name " + f.name
	}
	return line
}
