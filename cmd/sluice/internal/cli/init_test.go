package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
)

// TestInitWritesPoliciesWithoutWarnings tries answers of every kind in all
// combinations.
func TestInitWritesPoliciesWithoutWarnings(t *testing.T) {
	for _, guards := range []string{"client", "server"} {
		for _, rate := range []string{"none", "100/s", "1000/m", "5/s", "1/s", "59/m", "1/m", "7/d", "1000000/s"} {
			for _, slowest := range []string{"1ms", "80ms", "2s", "5m"} {
				for _, repeats := range []string{"yes", "no"} {
					for _, sharing := range []string{"all", "key", "ip", "header:x-tenant"} {
						args := []string{"init", "-o", "-", "--guards", guards, "--rate", rate, "--slowest", slowest, "--repeats", repeats,
							"--sharing", sharing}
						code, stdout, stderr := runArgs("", args...)
						require.Equal(t, ExitOK, code, "%q: %s", args, stderr)
						doc, err := policy.Parse("policy.yaml", []byte(stdout))
						require.NoError(t, err, stdout)
						report := lint.Check(doc)
						require.Zero(t, report.Count(lint.Warning), "%q:\n%s\n%+v", args, stdout, report.Findings)
						require.Equal(t, rate != "none", strings.Contains(stdout, "limit:"))
						require.Equal(t, guards == "client" && repeats == "yes", strings.Contains(stdout, "retry:"))
					}
				}
			}
		}
	}
}

func TestInitAsks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	code, stdout, stderr := runArgs("client\n100\n 50/s \n\nyes\nall\n", "init", "-o", file)
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, "written: "+file+"\nnext:    sluice lint "+file+"\n", stdout)
	assert.Contains(t, stderr, "How many requests may it get at most? (100/s, 5000/m or none) [none] found \"100\"; allowed: none, or a rate COUNT/DURATION as in 100/s\n")
	assert.Equal(t, 6, strings.Count(stderr, "? ("), "the wrong answer is asked for again")
	document := read(t, file)
	assert.Contains(t, document, "limit: {rate: 50/s, burst: 50}")
	assert.Contains(t, document, "50 a second that take 500ms each are 25 at once")
	code, _, _ = run("", "lint --strict "+file)
	assert.Equal(t, ExitOK, code)

	code, _, stderr = runArgs("", "init", "-o", file)
	assert.Equal(t, ExitBad, code)
	assert.Equal(t, "sluice: "+file+" exists; --force replaces it\n", stderr)
	assert.Equal(t, document, read(t, file))
	code, _, _ = runArgs("server\n\n\n\n\n", "init", "--force", "-o", file)
	assert.Equal(t, ExitOK, code)
	assert.NotEqual(t, document, read(t, file))
}

func TestInitErrors(t *testing.T) {
	code, stdout, stderr := runArgs("client\n", "init", "-o", "-")
	assert.Equal(t, ExitBad, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "sluice: the answers ended before the question of --rate: unexpected EOF\n")
	for flag, want := range map[string]string{
		"--guards=x":         `--guards: found "x"; allowed: client or server`,
		"--slowest=10":       `--slowest: found "10"; allowed: a duration from 1ms to 5m`,
		"--repeats=maybe":    `--repeats: found "maybe"; allowed: yes or no`,
		"--sharing=header:":  `--sharing: found "header:"; allowed: all, key, ip, or header: and a name`,
		"--sharing=header:Ü": `--sharing: found "header:Ü"; allowed: all, key, ip, or header: and a name in lower case`,
		"--rate=1/s, x: y":   `--rate: found "1/s, x: y"; allowed: none, or a rate`,
		"--output=/no/where": "cannot write /no/where: no such file",
	} {
		code, _, stderr := runArgs("\n\n\n\n\n", "init", flag)
		assert.NotEqual(t, ExitOK, code, flag)
		assert.Contains(t, stderr, want, flag)
	}
	_, err := os.Stat("policy.yaml")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
