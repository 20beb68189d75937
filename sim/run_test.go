package sim_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/sim"
)

// TestRuns compares small runs, which a person can follow, with what they gave: the
// result, and the decisions of the first client where it has a policy. eval decides
// the events of each in the same way.
func TestRuns(t *testing.T) {
	files, err := filepath.Glob("testdata/runs/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s, err := sim.Load(file)
			require.NoError(t, err)
			var log, events bytes.Buffer
			o := sim.Options{}
			if s.Clients[0].Policy != nil {
				o = sim.Options{Client: s.Clients[0].Name, Log: &log, Events: &events}
			}
			r, err := sim.Run(s, o)
			require.NoError(t, err)
			var out bytes.Buffer
			require.NoError(t, json.Indent(&out, r.AppendJSON(nil), "", "  "))
			out.Write(log.Bytes())
			if o.Log != nil {
				var decided bytes.Buffer
				require.NoError(t, eval.Run(s.Clients[0].Policy.Policy, eval.Options{Seed: s.Seed}, &events, &decided))
				assert.Equal(t, log.String(), decided.String())
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *rewrite {
				require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), out.String())
		})
	}
}
