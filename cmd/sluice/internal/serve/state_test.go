package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
)

// lasting has a lockout, a limit, and a breaker.
const lasting = `version: 1
policies:
  login: {steps: [limit: {name: tries, rate: 2/1h, per: "header:x-user", block: 30m}]}
  daily: {steps: [limit: {name: day, rate: 3/24h, algorithm: fixed-window}]}
  vendor: {steps: [breaker: {window: {consecutive: 2}, open: 10m}, limit: {name: byuser, rate: 100/1s, per: "header:x-user"}]}
routes: [{path: /login, policy: login}, {path: /daily, policy: daily}, {path: /vendor, policy: vendor}]
`

// kept tells how a server of a document with a state file answers, and how a later one does.
func ask(b *bubble, path, user string) string {
	resp, _ := b.get(path, "X-User: "+user, "Connection: close")
	return strings.TrimSpace(resp.Status[:3] + " " + resp.Header.Get("X-Throttle-Reason"))
}

func withState(file string) func(*Config) {
	return func(c *Config) { c.State = State{File: file} }
}

// TestStateOutlivesARestart: a lockout, a used-up limit, an open breaker and a block by hand
// belong to the next process, and the time between counts.
func TestStateOutlivesARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	upstream := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/vendor" {
			w.WriteHeader(500)
		}
	}
	down := func(after time.Duration, test func(b *bubble)) {
		inBubble(t, lasting, upstream, func(b *bubble) {
			time.Sleep(after) // every bubble begins at one time: the process was down so long
			b.keeper.load(again(t, lasting))
			test(b)
			b.keeper.write()
		}, withState(file))
	}
	inBubble(t, lasting, upstream, func(b *bubble) {
		for range 3 {
			ask(b, "/login", "mallory")
			ask(b, "/daily", "")
			ask(b, "/vendor", "ada")
		}
		require.NoError(t, b.set.Pipeline("vendor").Step("byuser").Key("eve").By("ops", "abuse").Block(24*time.Hour))
		b.keeper.write()
		info, err := os.Stat(file)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode())
	}, withState(file))
	down(5*time.Minute, func(b *bubble) {
		assert.Equal(t, "429 blocked", ask(b, "/login", "mallory"))
		assert.Equal(t, "200", ask(b, "/login", "ada"))
		assert.Equal(t, "429 rate", ask(b, "/daily", ""))
		assert.Equal(t, "503 open", ask(b, "/vendor", "ada"))
		list, err := b.set.Pipeline("vendor").Step("byuser").Blocked()
		require.NoError(t, err)
		require.Len(t, list, 1)
		assert.Equal(t, 24*time.Hour-5*time.Minute, list[0].Left)
	})
	// The second file is of 00:05; 00:31 is past the lockout, and past the open time.
	down(31*time.Minute, func(b *bubble) {
		assert.NotEqual(t, "429 blocked", ask(b, "/login", "mallory"))
		assert.Equal(t, "429 rate", ask(b, "/daily", ""))
		assert.Equal(t, "429 blocked", ask(b, "/vendor", "eve"))
		assert.Equal(t, "500", ask(b, "/vendor", "ada"), "a probe")
	})
	// The clock went back: no time has passed.
	down(0, func(b *bubble) {
		assert.Equal(t, "429 rate", ask(b, "/daily", ""))
		list, err := b.set.Pipeline("vendor").Step("byuser").Blocked()
		require.NoError(t, err)
		assert.Equal(t, 24*time.Hour-31*time.Minute, list[0].Left)
	})
}

func again(t testing.TB, document string) *sluice.Set {
	t.Helper()
	set, err := sluice.Parse("policy.yaml", []byte(document))
	require.NoError(t, err)
	return set
}

// serverOf makes a server that reads a state file, with what it logs.
func serverOf(t testing.TB, document, file string) (*Server, *journal) {
	t.Helper()
	j := newJournal()
	s, err := New(Config{
		File: "policy.yaml", Source: []byte(document), Upstreams: []*url.URL{{Scheme: "http", Host: "upstream.test"}},
		Log: slog.New(slog.NewJSONHandler(j, nil)), State: State{File: file},
	})
	require.NoError(t, err)
	return s, j
}

// usedState writes a state file of a document whose limits are used, and returns its text.
func usedState(t testing.TB, document, file string) []byte {
	t.Helper()
	s, _ := serverOf(t, document, file)
	for _, name := range s.set.Names() {
		for _, user := range []string{"ada", "bob", "eve"} {
			_, _ = sluice.DoWith(t.Context(), s.set.Pipeline(name), sluice.Request{Lookup: func(string) string { return user }}, func(context.Context) (int, error) { return 0, nil })
		}
	}
	s.keeper.write()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// asides returns the files beside a state file that were not used.
func asides(t testing.TB, file string) []string {
	t.Helper()
	list, err := filepath.Glob(file + ".refused-*")
	require.NoError(t, err)
	return list
}

// TestStateFilesThatAreNotUsed: what is no state of these policies is told, kept aside, and
// nothing of it is used.
func TestStateFilesThatAreNotUsed(t *testing.T) {
	folder := t.TempDir()
	good := usedState(t, lasting, filepath.Join(folder, "good"))
	other := usedState(t, strings.NewReplacer("login", "a", "daily", "b", "vendor", "c").Replace(lasting), filepath.Join(folder, "other"))
	older := slices.Clone(good)
	older[len(stateMagic)] = stateVersion + 1
	sum := sha256.Sum256(older[:len(older)-sha256.Size])
	copy(older[len(older)-sha256.Size:], sum[:])
	for name, c := range map[string]struct {
		text []byte
		why  error
	}{
		"foreign": {[]byte("{}\n"), errForeign}, "empty": {nil, errForeign}, "broken": {append(slices.Clone(good), 0), errBroken},
		"older": {older, errOlder}, "other policies": {other, errUnrelated},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "state")
			require.NoError(t, os.WriteFile(file, c.text, 0o600))
			s, j := serverOf(t, lasting, file)
			line := j.await(t, "the state file is not used")
			assert.Equal(t, []any{"ERROR", c.why.Error(), file}, []any{line["level"], line["error"], line["state"]})
			list := asides(t, file)
			require.Len(t, list, 1)
			assert.Equal(t, list[0], line["kept_as"])
			kept, err := os.ReadFile(list[0])
			require.NoError(t, err)
			assert.Equal(t, string(c.text), string(kept))
			assert.Equal(t, 3, freeOf(s), "nothing is used")
			s.keeper.write()
			_, _, err = decodeParts(file)
			assert.NoError(t, err)
		})
	}
}

// freeOf returns the free permits of the limit daily.
func freeOf(s *Server) int {
	return int(s.set.Pipeline("daily").Limits(sluice.Request{}, nil)[0].Free)
}

func decodeParts(file string) (text []byte, list []kept, err error) {
	if text, err = os.ReadFile(file); err == nil {
		list, err = decodeState(text)
	}
	return text, list, err
}

// TestStateOfChangedPolicies: a policy with other settings keeps the steps that fit, and that
// is told.
func TestStateOfChangedPolicies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	usedState(t, lasting, file)
	changed := strings.Replace(strings.Replace(lasting, "name: tries", "name: attempts", 1), "3/24h", "4/24h", 1)
	s, j := serverOf(t, changed, file)
	assert.Equal(t, "login, daily", j.await(t, "policies are not those")["policies"])
	assert.Less(t, freeOf(s), 4)
	assert.Empty(t, asides(t, file))
	s, j = serverOf(t, lasting, file)
	j.await(t, "the state is taken over")
	assert.Equal(t, 0, freeOf(s))
	assert.Zero(t, j.count("policies are not those"))
}

// TestBrokenStateFiles changes each byte and cuts at each length: such a file never panics,
// and is used in no part.
func TestBrokenStateFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	good := usedState(t, lasting, file)
	s, _ := serverOf(t, lasting, file)
	fresh, _ := serverOf(t, lasting, filepath.Join(t.TempDir(), "none"))
	want := fresh.set.Pipeline("daily").Snapshot()[17:] // without the marks
	try := func(text []byte) {
		_, err := fresh.keeper.restore(text, s.set)
		require.Error(t, err)
	}
	for n := range good {
		try(good[:n])
		for _, bit := range []byte{1, 0x80} {
			text := slices.Clone(good)
			text[n] ^= bit
			try(text)
		}
	}
	got := fresh.set.Pipeline("daily").Snapshot()[17:]
	assert.Equal(t, want[:len(want)-4], got[:len(got)-4])
}

// FuzzStateFile reads texts as they are, and with a digest that fits.
func FuzzStateFile(f *testing.F) {
	good := usedState(f, lasting, filepath.Join(f.TempDir(), "state"))
	f.Add(good)
	f.Add([]byte(stateMagic))
	s, _ := serverOf(f, lasting, filepath.Join(f.TempDir(), "none"))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = s.keeper.restore(text, s.set)
		if len(text) > sha256.Size {
			body := text[:len(text)-sha256.Size]
			sum := sha256.Sum256(body)
			_, _ = s.keeper.restore(append(slices.Clone(body), sum[:]...), s.set)
		}
	})
}

// TestStateThatCannotBeWritten: a full disk and a folder that is not there are told, with
// each write, and the last file stays. One that cannot be moved aside is not replaced.
func TestStateThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none", "state")
	s, j := serverOf(t, lasting, file)
	s.keeper.write()
	s.keeper.write()
	assert.Equal(t, 2, j.count("the state is not written"))
	if _, err := os.Stat("/dev/full"); err == nil {
		s, j = serverOf(t, lasting, filepath.Join(t.TempDir(), "state"))
		s.keeper.state.File = "/dev/full"
		s.keeper.write()
		assert.Contains(t, j.await(t, "the state is not written")["error"], "/dev/full")
	}
	small := filepath.Join(t.TempDir(), "state")
	most := len(usedState(t, lasting, small)) - 1
	s, j = serverOf(t, lasting, small)
	s.keeper.state.Most = int64(most)
	s.keeper.write()
	assert.Equal(t, "vendor", j.await(t, "does not fit")["policies"])
	text, _, err := decodeParts(small)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(text), most)

	folder := t.TempDir()
	locked := filepath.Join(folder, "state")
	require.NoError(t, os.WriteFile(locked, []byte("mine"), 0o600))
	s, _ = serverOf(t, lasting, filepath.Join(t.TempDir(), "state"))
	s.keeper.state.File = locked
	s.keeper.foreign = true
	s.keeper.write()
	got, err := os.ReadFile(locked)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(got))
}

// TestStateIsWrittenEachMinute: at the start, each minute, and at the end of the drain.
func TestStateIsWrittenEachMinute(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		s, _ := serverOf(t, lasting, file)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.keeper.run(ctx); close(done) }()
		var last []byte
		for range 3 {
			synctest.Wait()
			text, _, err := decodeParts(file)
			require.NoError(t, err)
			require.False(t, bytes.Equal(last, text), "it has the time of its write")
			last = text
			time.Sleep(time.Minute)
		}
		stop()
		<-done
	})
}

// TestStateAtTheEnd: Run writes the state after the drain.
func TestStateAtTheEnd(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	p := run(t, lasting, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }), withState(file))
	get(t, p.url+"/daily")
	p.stop()
	require.NoError(t, <-p.ended)
	close(p.ended)
	s, _ := serverOf(t, lasting, file)
	assert.Equal(t, 2, freeOf(s))
}
