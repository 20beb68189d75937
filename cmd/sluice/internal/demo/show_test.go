package demo

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	v := sample()
	var out strings.Builder
	p := &Plain{Out: &out}
	for _, at := range []time.Duration{time.Second, 5 * time.Second, 8 * time.Second, 15 * time.Second, 15*time.Second + 3*ms} {
		v.Now = at
		require.NoError(t, p.Show(v))
	}
	require.Equal(t, `                   | no policy                      | by hand                        | the policy
  time  service    | good/s    p99 retries/s queue  | good/s    p99 retries/s queue  | good/s    p99 retries/s queue refused/s breaker
  1.0s  healthy    |    126   40ms         0     0  |    126   40ms         0     0  |    126   40ms         0     0         0 closed
  5.0s  failing    |      6   40ms       236     0  |      6  500ms        12     0  |     30  200ms        30     0        79 half-open
  8.0s  slow       |      0 1500ms       240     0  |      0  500ms        12     0  |     30  200ms        30     0        90 closed
 15.0s  healed     |      0 1500ms       246     0  |    122   40ms         0     0  |    122   40ms         0     0         0 closed
`, out.String())
	require.ErrorIs(t, (&Plain{Out: broken{}}).Show(v), errBroken)
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestFrames(t *testing.T) {
	v := sample()
	for _, width := range []int{MinWidth - 1, 90, maxWidth} {
		for at := time.Duration(0); at <= v.Scenario.Duration; at += 250 * ms {
			v.Now = at
			lines := frame(v, width)
			require.Less(t, len(lines), MinHeight)
			for _, line := range lines {
				require.LessOrEqual(t, lipgloss.Width(line), width, "%d %s: %s", width, at, line)
			}
		}
	}
}

func TestFrame(t *testing.T) {
	v := sample()
	v.Now = 10 * time.Second
	require.Equal(t, `sluice demo   10.0s of 15.0s   120 calls/s   the brown-out is over
━━━━━━━━━━━━━━━━━━━━▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓━━━━━─────────────────────────
goodput no policy        0/s ████▇███████▄▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
        by hand          0/s ████▇███████▄▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
`, firstLines(frame(v, 75), 4))
}

var styles = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func firstLines(lines []string, n int) string {
	return styles.ReplaceAllString(strings.Join(lines[:n], "\n")+"\n", "")
}

func TestLive(t *testing.T) {
	var out strings.Builder
	l := &Live{Out: &out, Width: func() int { return 100 }}
	require.NoError(t, l.Close())
	require.Empty(t, out.String(), "nothing was shown")
	v := sample()
	require.NoError(t, l.Show(v))
	require.True(t, strings.HasPrefix(out.String(), "\x1b[?25l"))
	before := out.Len()
	require.NoError(t, l.Show(v))
	require.True(t, strings.HasPrefix(out.String()[before:], "\x1b[16A\r"), "the second frame replaces the first")
	require.NoError(t, l.Close())
	require.True(t, strings.HasSuffix(out.String(), "\x1b[?25h"))
}

func TestSpark(t *testing.T) {
	require.Equal(t, "▁▁▄█▅█▁", spark([]float64{0, 0.05, 0.45, 1, 0.6, 7, -1}))
	require.Empty(t, spark(nil))
}

func TestTable(t *testing.T) {
	v := sample()
	sums := v.Summaries()
	table := Table(Rows(v.Scenario, &sums), strings.ToUpper)
	require.Equal(t, `                                  NO POLICY     BY HAND   THE POLICY
calls offered                          1811        1811         1811
good answers (goodput)            484 (27%)   977 (54%)   1364 (75%)
  while healthy, of 120/s             120/s       120/s        120/s
  while slow, of 50/s                   0/s         0/s         30/s
  while healed, of 120/s                0/s        81/s        122/s
p50 of good answers                    40ms        40ms         40ms
p99 of good answers                    40ms        40ms        200ms
p99 of all calls                     1500ms       500ms        200ms
failed calls                     1327 (73%)   834 (46%)            0
refused by the policy                     0           0    447 (25%)
  bulkhead: wait                          0           0          298
  breaker: open                           0           0          149
retries                                2654          83          149
attempts per call                      2.47        1.05         0.84
longest queue at the service            256         200            4
work for callers who had left           64%         40%           0%
time to recover                 not in 6.0s        2.0s        <0.1s
`, table)
}

func TestNumbers(t *testing.T) {
	require.Equal(t, "-", millis(None))
	require.Equal(t, "0.5ms", millis(500*time.Microsecond))
	require.Equal(t, "1500ms", millis(1500*ms))
	require.Equal(t, "0%", percent(0))
	require.Equal(t, "0.3%", percent(0.003))
	require.Equal(t, "8%", percent(0.08))
	require.Equal(t, "100%", percent(1))
}
