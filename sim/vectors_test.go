package sim_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/randomscenario"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/report/lanes"
)

// vector is a scenario, run with two samples of each part, and the SHA-256 of each output of its run, for the players of
// other runtimes.
type vector struct {
	Name     string          `json:"name"`
	Scenario json.RawMessage `json:"scenario"`
	// Client whose log and events are written, empty for neither.
	Client string `json:"client"`
	Result string `json:"result"`
	Lanes  string `json:"lanes"`
	Log    string `json:"log"`
	Events string `json:"events"`
}

// TestVectors compares testdata/vectors.json with what the simulator gives here. The
// tests of bindings/wazero and of the npm package compare it with what it gives in
// WebAssembly.
func TestVectors(t *testing.T) {
	const file = "testdata/vectors.json"
	var all []vector
	for _, pattern := range []string{"testdata/runs/*.yaml", "testdata/good/*.yaml", "presets/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			root, problems := policy.Tree(file, src)
			require.Empty(t, problems)
			if !strings.Contains(string(src), "policy_file:") {
				all = append(all, play(t, strings.TrimSuffix(filepath.Base(file), ".yaml"), appendJSON(nil, root)))
			}
		}
	}
	random := rand.New(rand.NewPCG(7, 14))
	for i := range 30 {
		src := randomscenario.JSON(random, func(steps string) bool {
			_, err := policy.Parse("policy.json", []byte(`{"version":1,"policies":{"p":{"steps":`+steps+`}}}`))
			return err == nil
		})
		all = append(all, play(t, "random-"+strconv.Itoa(i), []byte(src)))
	}
	lines := make([]string, len(all))
	for i := range all {
		line, err := json.Marshal(all[i])
		require.NoError(t, err)
		lines[i] = string(line)
	}
	got := "[\n" + strings.Join(lines, ",\n") + "\n]\n"
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func play(t *testing.T, name string, src []byte) vector {
	s, err := sim.Parse(name+".json", src, nil)
	require.NoError(t, err)
	v := vector{Name: name, Scenario: src}
	var log, events bytes.Buffer
	o := sim.Options{Sample: 2}
	for i := range s.Clients {
		if v.Client == "" && s.Clients[i].Policy != nil {
			v.Client = s.Clients[i].Name
			o = sim.Options{Sample: 2, Client: v.Client, Log: &log, Events: &events}
		}
	}
	r, err := sim.Run(s, o)
	require.NoError(t, err, name)
	sum := func(output []byte) string {
		sum := sha256.Sum256(output)
		return hex.EncodeToString(sum[:])
	}
	v.Result, v.Lanes = sum(r.AppendJSON(nil)), sum(lanes.DataOf(r).AppendJSON(nil))
	v.Log, v.Events = sum(log.Bytes()), sum(events.Bytes())
	return v
}

// appendJSON appends a tree as JSON, in its order.
func appendJSON(dst []byte, n *tree.Node) []byte {
	brackets := map[tree.Kind]string{tree.Map: "{}", tree.List: "[]"}[n.Kind]
	switch {
	case n.Kind == tree.Text:
		return appendText(dst, n.Text)
	case brackets == "":
		return append(dst, n.Text...)
	}
	dst = append(dst, brackets[0])
	for i, item := range n.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if n.Kind == tree.Map {
			dst = append(appendText(dst, item.Key), ':')
		}
		dst = appendJSON(dst, item)
	}
	return append(dst, brackets[1])
}

func appendText(dst []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return append(dst, quoted...)
}
