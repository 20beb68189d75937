package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"text/template"
	"time"

	_ "embed" // for the template

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/policy"
)

// initFlags are the flags of init: the answers, and where the document goes.
type initFlags struct {
	answers [questionCount]string
	output  string
	force   bool
}

// question is one of those that init asks.
type question struct {
	flag, text, example string
	// standard is the answer of an empty line; "" asks again.
	standard string
	// check returns what is wrong with an answer.
	check func(string) error
}

// The questions, by what they are about.
const (
	guards = iota
	rate
	slowest
	repeats
	sharing
	questionCount
)

var questions = [questionCount]question{
	guards: {"guards", "What does the policy guard: the calls of a client, or a server?", "client or server", "client", oneOf("client", "server")},
	rate:   {"rate", "How many requests may it get at most?", "100/s, 5000/m or none", "none", checkRate},
	slowest: {"slowest", "How long does a usual request take, the slowest of a hundred?", "200ms", "500ms", func(text string) error {
		if d, err := time.ParseDuration(text); err != nil || d < time.Millisecond || d > 5*time.Minute {
			return errors.New("a duration from 1ms to 5m, as in 200ms")
		}
		return nil
	}},
	repeats: {"repeats", "May a request that failed be sent again, with the same effect as once?", "yes or no", "no", oneOf("yes", "no")},
	sharing: {"sharing", "Who shares a limit: all, or those with the same key, address or value of a header?", "all, key, ip or header:x-tenant", "all", func(text string) error {
		if text == "all" || text == "key" || text == "ip" || strings.HasPrefix(text, "header:") && accepts("rate: 1/s, per: "+strconv.Quote(text)) {
			return nil
		}
		return errors.New("all, key, ip, or header: and a name in lower case")
	}},
}

// oneOf checks that an answer is one of some words.
func oneOf(words ...string) func(string) error {
	return func(text string) error {
		for _, word := range words {
			if text == word {
				return nil
			}
		}
		return errors.New(strings.Join(words, " or "))
	}
}

func checkRate(text string) error {
	if text == "none" {
		return nil
	}
	if !accepts("rate: " + strconv.Quote(text)) {
		return errors.New("none, or a rate COUNT/DURATION as in 100/s")
	}
	return nil
}

// accepts reports whether a limit may have some settings.
func accepts(settings string) bool {
	_, err := policy.ParseOne("limit.yaml", []byte("steps: [{limit: {"+settings+"}}]"))
	return err == nil
}

func newInit(env *Env) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [flags]",
		Short: "Ask five questions and write a policy with comments",
		Long: `init asks what a policy guards, how many requests it may get, how long they take,
whether they may be repeated, and who shares a limit, and writes a policy document whose
comments say where each number comes from. A flag answers its question in advance. An
empty line takes the answer in brackets.`,
		Example: `  sluice init
  sluice init --output vendor.yaml
  sluice init --guards client --rate 100/s --slowest 200ms --repeats yes --sharing all`,
		Args:              withArgs(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for i, q := range questions {
				if answer := f.answers[i]; answer != "" {
					if err := q.check(answer); err != nil {
						return usage(cmd, "--%s: found %q; allowed: %v", q.flag, answer, err)
					}
				}
			}
			return env.init(&f)
		},
	}
	flags := cmd.Flags()
	for i, q := range questions {
		flags.StringVar(&f.answers[i], q.flag, "", q.text+" ("+q.example+")")
		must(cmd.RegisterFlagCompletionFunc(q.flag, cobra.NoFileCompletions))
	}
	flags.StringVarP(&f.output, "output", "o", "policy.yaml", "the document to write; - is standard output")
	flags.BoolVar(&f.force, "force", false, "replace the document if it exists")
	return cmd
}

// init asks and writes.
func (e *Env) init(f *initFlags) error {
	if f.output != stdinName && !f.force {
		if _, err := os.Stat(f.output); err == nil {
			return bad("%s exists; --force replaces it", f.output)
		}
	}
	in := bufio.NewScanner(e.Stdin)
	for i := range questions {
		if f.answers[i] == "" {
			var err error
			if f.answers[i], err = e.ask(in, &questions[i]); err != nil {
				return err
			}
		}
	}
	document := f.document()
	if _, err := policy.Parse("policy.yaml", document); err != nil {
		return fail(ExitFailed, fmt.Errorf("a bug in init: %w", err))
	}
	if f.output == stdinName {
		return e.print(document)
	}
	if err := os.WriteFile(f.output, document, 0o644); err != nil {
		return fail(ExitFailed, fmt.Errorf("cannot write %s: %w", f.output, cause(err)))
	}
	return e.print(fmt.Appendf(nil, "written: %s\nnext:    sluice lint %s\n", f.output, f.output))
}

// ask asks a question until it is answered. Questions go to standard error, so that
// standard output has the document alone.
func (e *Env) ask(in *bufio.Scanner, q *question) (string, error) {
	for {
		fmt.Fprintf(e.Stderr, "%s (%s) [%s] ", q.text, q.example, q.standard)
		if !in.Scan() {
			fmt.Fprintln(e.Stderr)
			return "", bad("the answers ended before the question of --%s: %w", q.flag, errors.Join(in.Err(), io.ErrUnexpectedEOF))
		}
		answer := strings.TrimSpace(in.Text())
		if answer == "" {
			return q.standard, nil
		}
		err := q.check(answer)
		if err == nil {
			return answer, nil
		}
		fmt.Fprintf(e.Stderr, "found %q; allowed: %v\n", answer, err)
	}
}

//go:embed init.yaml.tmpl
var initText string

var initTemplate = template.Must(template.New("init.yaml").Parse(initText))

// document returns the policy for the answers.
func (f *initFlags) document() []byte {
	slow, err := time.ParseDuration(f.answers[slowest])
	must(err) // it has been checked
	answers := struct {
		Client, Repeats, Limited, Shared   bool
		Capped, Budget                     bool
		Rate, Per, Slowest                 string
		Attempt, Whole, Wait               string
		Attempts, Concurrent, Queue, Burst int
		Busy                               string
	}{
		Client: f.answers[guards] == "client", Repeats: f.answers[repeats] == "yes",
		Limited: f.answers[rate] != "none", Rate: f.answers[rate], Per: f.answers[sharing], Shared: f.answers[sharing] == "all", Slowest: plainDuration(slow),
		Attempts: 3, Concurrent: 50, Budget: true,
	}
	attempt := roundUp(2 * slow)
	whole := attempt
	if answers.Client && answers.Repeats {
		whole = roundUp(attempt*time.Duration(answers.Attempts) + time.Second)
	}
	answers.Attempt, answers.Whole = plainDuration(attempt), plainDuration(whole)
	if answers.Limited {
		perSecond := f.perSecond()
		answers.Burst = max(int(math.Ceil(perSecond)), 1)
	}
	if answers.Limited && answers.Shared {
		perSecond := f.perSecond()
		answers.Busy = strconv.FormatFloat(perSecond, 'g', 3, 64)
		// Little's law, for the slowest of the usual requests.
		answers.Concurrent = int(min(max(math.Ceil(perSecond*slow.Seconds()), 2), mostConcurrent))
		answers.Capped = answers.Concurrent == mostConcurrent
		// A budget grants one retry a second in any case.
		answers.Budget = perSecond >= 1
	}
	answers.Queue = answers.Concurrent
	answers.Wait = plainDuration(roundUp(slow))
	var out bytes.Buffer
	must(initTemplate.Execute(&out, answers))
	return out.Bytes()
}

// mostConcurrent is the greatest bulkhead that is proposed: each call takes memory, and
// often a connection.
const mostConcurrent = 10_000

// perSecond returns the rate of the answer.
func (f *initFlags) perSecond() float64 {
	quota, _ := rateOf(f.answers[rate]) // it has been checked
	return float64(quota.Count) / quota.Period.Seconds()
}

// roundUp rounds a duration up to two digits, for people.
func roundUp(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for d/unit >= 100 {
		unit *= 10
	}
	return (d + unit - 1) / unit * unit
}

// plainDuration writes a duration as a document does: 2m, not 2m0s.
func plainDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
