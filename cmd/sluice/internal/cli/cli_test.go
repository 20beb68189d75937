package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/spf13/cobra"

	"github.com/sluice-go/sluice/policy"
)

// two is a document of two policies, wrong one with two errors.
const (
	one = "version: 1\npolicies:\n  only: {steps: [{timeout: 1s}]}\n"
	two = "version: 1\npolicies:\n  api: {steps: [{timeout: 1s}]}\n  login: {steps: [{timeout: 2s}]}\n"

	wrong = "version: 1\npolicies:\n  p:\n    steps:\n      - timeout: 5\n      - limt: 5/s\n"
)

// complaint is what is printed of a document with errors.
func complaint(file, src string) string {
	_, err := policy.Parse(file, []byte(src))
	return err.Error() + "\n"
}

// files makes a folder with the documents and goes there.
func files(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"one.yaml": one, "two.yaml": two, "wrong.yaml": wrong, "empty.yaml": "",
		"log.ndjson": `{"at":0,"op":"call","id":1}` + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("folder", 0o755); err != nil {
		t.Fatal(err)
	}
}

// run runs a command line, with words split at spaces.
func run(stdin, line string) (code int, stdout, stderr string) {
	return runArgs(stdin, strings.Fields(line)...)
}

// runArgs runs a command line of some words.
func runArgs(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

const admitted = `{"at":"0s","id":1,"decision":"admit","attempt":1}` + "\n"

// lineTests are command lines with all that they print.
var lineTests = []struct {
	line, stdin    string
	code           int
	stdout, stderr string
}{
	// The command itself.
	{line: "evl", code: 2, stderr: "sluice: there is no command \"evl\"; did you mean eval or ctl? (see sluice --help)\n"},
	{line: "zzzzzz", code: 2, stderr: "sluice: there is no command \"zzzzzz\" (see sluice --help)\n"},
	{line: "--vrsion", code: 2, stderr: "sluice: unknown flag: --vrsion (see sluice --help)\n"},
	{line: "help evl", code: 2, stderr: "sluice: there is no help for \"evl\" (see sluice help --help)\n"},
	{line: "help eval more", code: 2, stderr: "sluice: there is no help for \"eval more\" (see sluice help --help)\n"},
	{line: "version more", code: 2, stderr: "sluice: unknown command \"more\" for \"sluice version\" (see sluice version --help)\n"},
	{line: "schema limit.bust", code: 2, stderr: "sluice: there is no setting \"limit.bust\"; sluice schema limit, for example, lists those of a mechanism (see sluice schema --help)\n"},
	{line: "schema limit.order", stdout: "limit.order\n  meaning  which waiting call is served next\n  type     oldest, newest; needs a wait\n  default  oldest\n  example  order: newest\n"},
	{line: "__complete schema timeout.", stdout: "timeout.after\ntimeout.soft\n:4\n",
		stderr: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"},

	// eval.
	{line: "eval --policy one.yaml log.ndjson", stdout: admitted},
	{line: "eval --policy one.yaml", stdin: `{"at":0,"op":"call","id":1}`, stdout: admitted},
	{line: "eval --policy one.yaml -", stdin: `{"at":0,"op":"call","id":1}`, stdout: admitted},
	{line: "eval --policy - log.ndjson", stdin: one, stdout: admitted},
	{line: "eval --policy two.yaml --name login log.ndjson", stdout: admitted},
	{line: "eval --policy one.yaml", stdin: ""},
	{line: "eval --policy one.yaml", stdin: "\n \n"},
	{line: "eval", code: 2, stderr: "sluice: eval needs --policy FILE (see sluice eval --help)\n"},
	{line: "eval --policy -", code: 2, stderr: "sluice: the policy and the events cannot both be standard input (see sluice eval --help)\n"},
	{line: "eval --policy one.yaml a b", code: 2, stderr: "sluice: accepts at most 1 arg(s), received 2 (see sluice eval --help)\n"},
	{line: "eval --policy", code: 2, stderr: "sluice: flag needs an argument: --policy (see sluice eval --help)\n"},
	{line: "eval --policy one.yaml --seed -1", code: 2,
		stderr: "sluice: invalid argument \"-1\" for \"--seed\" flag: invalid syntax (see sluice eval --help)\n"},
	{line: "eval --policy two.yaml log.ndjson", code: 2, stderr: "sluice: two.yaml has 2 policies; choose one with --name: api, login\n"},
	{line: "eval --policy two.yaml --name logn log.ndjson", code: 2,
		stderr: "sluice: there is no policy \"logn\" in two.yaml; choose one of: api, login\n"},
	{line: "eval --policy wrong.yaml log.ndjson", code: 2, stderr: complaint("wrong.yaml", wrong)},
	{line: "eval --policy empty.yaml log.ndjson", code: 2, stderr: complaint("empty.yaml", "")},
	{line: "eval --policy none.yaml log.ndjson", code: 2, stderr: "sluice: cannot read none.yaml: no such file or directory\n"},
	{line: "eval --policy folder log.ndjson", code: 2, stderr: "sluice: cannot read folder: it is a directory\n"},
	{line: "eval --policy one.yaml/x log.ndjson", code: 2, stderr: "sluice: cannot read one.yaml/x: not a directory\n"},
	{line: "eval --policy one.yaml none.ndjson", code: 2, stderr: "sluice: cannot read none.ndjson: no such file or directory\n"},
	{line: "eval --policy one.yaml folder", code: 2, stderr: "sluice: cannot read folder: it is a directory\n"},
	{line: "eval --policy one.yaml", stdin: `{"at":0,"op":"call","id":1}` + "\n" + `{"at":1,"op":"cal"}`, code: 2, stdout: admitted,
		stderr: "line 2: op: found \"cal\"; allowed: call, done, renew, cancel, tick, configure\n"},
	{line: "eval --policy one.yaml", stdin: `{"at":0,"op":"configure"}`, code: 2,
		stderr: "line 1: policy: missing; allowed: an object with steps\n"},

	// lint.
	{line: "lint", code: 2, stderr: "sluice: lint needs one FILE, or two to compare, found 0 (see sluice lint --help)\n"},
	{line: "lint wrong.yaml", code: 2, stderr: complaint("wrong.yaml", wrong)},
	{line: "lint none.yaml", code: 2, stderr: "sluice: cannot read none.yaml: no such file or directory\n"},
	{line: "lint folder", code: 2, stderr: "sluice: cannot read folder: it is a directory\n"},
	{line: "lint -", code: 2, stderr: complaint("stdin", "")},
	{line: "lint two.yaml --name x", code: 2, stderr: "sluice: there is no policy \"x\" in two.yaml; choose one of: api, login\n"},

	// completion.
	{line: "completion", code: 2, stderr: "sluice: completion needs one shell: bash, zsh, fish, powershell (see sluice completion --help)\n"},
	{line: "completion tcsh", code: 2, stderr: "sluice: there is no completion for \"tcsh\"; choose one of: bash, zsh, fish, powershell (see sluice completion --help)\n"},
}

func TestLines(t *testing.T) {
	files(t)
	for _, test := range lineTests {
		code, stdout, stderr := run(test.stdin, test.line)
		if code != test.code || stdout != test.stdout || stderr != test.stderr {
			t.Errorf("sluice %s: code %d, want %d\nstdout %q\n  want %q\nstderr %q\n  want %q",
				test.line, code, test.code, stdout, test.stdout, stderr, test.stderr)
		}
	}
}

// TestOutputs checks the beginning of what is long.
func TestOutputs(t *testing.T) {
	for line, want := range map[string]string{
		"":                      "sluice works with policy documents",
		"--help":                "sluice works with policy documents",
		"help":                  "sluice works with policy documents",
		"help eval":             "eval reads a log of events",
		"eval --help":           "eval reads a log of events",
		"help lint":             "lint checks a policy document",
		"help exit-codes":       "The exit code of every command:",
		"exit-codes":            "The exit code of every command:",
		"help completion":       "completion prints a script",
		"help schema":           "schema prints the JSON Schema",
		"help version":          "version prints the version",
		"help help":             "help explains a command",
		"schema":                "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\"",
		"version":               "sluice (devel)",
		"--version":             "sluice (devel)",
		"completion bash":       "# bash completion V2 for sluice",
		"completion zsh":        "#compdef sluice",
		"completion fish":       "# fish completion for sluice",
		"completion powershell": "# powershell completion for sluice",
	} {
		code, stdout, stderr := run("", line)
		if code != ExitOK || !strings.HasPrefix(stdout, want) || stderr != "" {
			t.Errorf("sluice %s: code %d, stderr %q, stdout %.80q, want %q", line, code, stderr, stdout, want)
		}
	}
}

// TestHelpHasExamples makes sure that every command explains itself.
func TestHelpHasExamples(t *testing.T) {
	for _, cmd := range newRoot(&Env{}).Commands() {
		if cmd.Short == "" || cmd.Long == "" || cmd.Runnable() && !strings.Contains(cmd.Example, "sluice "+cmd.Name()) {
			t.Errorf("%s: short %q, long %q, example %q", cmd.Name(), cmd.Short, cmd.Long, cmd.Example)
		}
	}
}

// TestCompletion checks the answers to a shell's completion.
func TestCompletion(t *testing.T) {
	files(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"__complete", "eval", "--policy", "two.yaml", "--name", ""}, "api\nlogin\n:4\n"},
		{[]string{"__complete", "eval", "--policy", "wrong.yaml", "--name", ""}, ":4\n"},
		{[]string{"__complete", "eval", "--name", ""}, ":4\n"},
		{[]string{"__complete", "lint", "two.yaml", "--name", ""}, "api\nlogin\n:4\n"},
		{[]string{"__complete", "lint", "--name", ""}, ":4\n"},
		{[]string{"__complete", "lint", ""}, "yaml\nyml\njson\n:8\n"},
		{[]string{"__complete", "lint", "two.yaml", ""}, "yaml\nyml\njson\n:8\n"},
		{[]string{"__complete", "lint", "two.yaml", "two.yaml", ""}, ":4\n"},
		{[]string{"__complete", "lint", "--format", ""}, "text\njson\nsarif\ngithub\n:4\n"},
		{[]string{"__complete", "lint", "--allow", ""}, strings.Join(ruleNames(), "\n") + "\n:4\n"},
		{[]string{"__complete", "eval", "--policy", ""}, "yaml\nyml\njson\n:8\n"},
		{[]string{"__complete", "eval", ""}, "ndjson\njsonl\njson\nlog\n:8\n"},
		{[]string{"__complete", "eval", "log.ndjson", ""}, ":4\n"},
		{[]string{"__complete", "completion", "z"}, "zsh\n:4\n"},
	} {
		var out bytes.Buffer
		if code := Run(test.args, strings.NewReader(""), &out, io.Discard); code != ExitOK || out.String() != test.want {
			t.Errorf("%q: code %d, got %q, want %q", test.args, code, out.String(), test.want)
		}
	}
}

// broken fails every write.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// TestBrokenOutput checks that a reader that left is no failure, and a full
// disk is one.
func TestBrokenOutput(t *testing.T) {
	files(t)
	for _, line := range []string{"eval --policy one.yaml log.ndjson", "eval --policy one.yaml --follow log.ndjson",
		"eval --policy one.yaml --summary log.ndjson", "eval --policy one.yaml --summary --json log.ndjson", "lint one.yaml",
		"lint --json one.yaml", "lint --json wrong.yaml", "schema", "version", "completion bash"} {
		for _, test := range []struct {
			err    error
			code   int
			stderr string
		}{
			{&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, ExitOK, ""},
			{&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}, ExitFailed,
				"sluice: standard output cannot be written: no space left on device\n"},
		} {
			var errs bytes.Buffer
			code := Run(strings.Fields(line), strings.NewReader(""), broken{test.err}, &errs)
			if code != test.code || errs.String() != test.stderr {
				t.Errorf("%s: %v: code %d, stderr %q", line, test.err, code, errs.String())
			}
		}
	}
}

// TestBrokenInput checks a standard input that fails.
func TestBrokenInput(t *testing.T) {
	files(t)
	for _, line := range []string{"eval --policy one.yaml", "lint -"} {
		var out, errs bytes.Buffer
		code := Run(strings.Fields(line), iotest.ErrReader(errors.New("no such luck")), &out, &errs)
		if want := "sluice: cannot read standard input: no such luck\n"; code != ExitBad || errs.String() != want || out.Len() > 0 {
			t.Errorf("%s: code %d, stdout %q, stderr %q", line, code, out.String(), errs.String())
		}
	}
}

// TestForbidden checks a file that may not be read.
func TestForbidden(t *testing.T) {
	files(t)
	if err := os.Chmod("one.yaml", 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile("one.yaml"); err == nil {
		t.Skip("this user may read everything")
	}
	code, stdout, stderr := run("", "lint one.yaml")
	if want := "sluice: cannot read one.yaml: permission denied\n"; code != ExitBad || stdout != "" || stderr != want {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// TestBug checks that a panic is one line.
func TestBug(t *testing.T) {
	commands = append(commands, func(*Env) *cobra.Command {
		return &cobra.Command{Use: "bug", RunE: func(*cobra.Command, []string) error { panic("oh\nno") }}
	})
	defer func() { commands = commands[:len(commands)-1] }()
	code, stdout, stderr := run("", "bug")
	if code != ExitFailed || stdout != "" || stderr != "sluice: a bug in sluice, please report it: oh; no\n" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
