package filtertest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/sluice-go/sluice/proxywasm/host"
	"github.com/sluice-go/sluice/reducer"
)

// TestInventedNames: 20,000 names that a stranger invents neither end the block of a key
// nor give it its permits back, in a table of 4,096 keys.
func TestInventedNames(t *testing.T) {
	inEachState(t, func(t *testing.T, state string) {
		for limit, reason := range map[string]string{
			`{"limit":{"rate":"5/1h","per":"header:x-key","keys":4096,"block":"24h"}}`: "blocked",
			`{"limit":{"rate":"5/1h","per":"header:x-key","keys":4096}}`:               "rate",
		} {
			e := start(t, steps(state, limit))
			ask := func(key string) string {
				s := e.begin(0, "x-key", key)
				if s.Response() == nil {
					answer(s, 200)
				}
				return reasonOf(s)
			}
			for range 6 {
				ask("victim")
			}
			for i := range 20_000 {
				assert.Empty(t, ask("name "+strconv.Itoa(i)))
			}
			assert.Equal(t, reason, ask("victim"))
		}
	})
}

// TestRefusalsWithoutABlock: above half of the keys, here of one group of slots, the limit
// refuses alone, which a counter tells.
func TestRefusalsWithoutABlock(t *testing.T) {
	t.Parallel()
	inEachState(t, func(t *testing.T, state string) {
		e := start(t, steps(state, `{"limit":{"rate":"1/1h","per":"header:x-key","keys":6,"block":"24h"}}`))
		for i := range 6 {
			key := strconv.Itoa(i)
			assert.Equal(t, 200, e.get(0, "x-key", key))
			assert.Equal(t, 429, e.get(0, "x-key", key))
			want := "blocked"
			if i >= 3 {
				want = "rate"
			}
			assert.Equal(t, want, reasonOf(e.begin(0, "x-key", key)), key)
		}
		e.flush()
		assert.EqualValues(t, 6, e.Counter("sluice.all.limit.unblocked"))
	})
}

// TestGroupEvictsAsATable: a group of slots forgets the keys that one table of the core
// forgets, while uses are further apart than the unit in which they are recorded.
func TestGroupEvictsAsATable(t *testing.T) {
	t.Parallel()
	const slots = 6
	reasons := map[string]int{}
	for _, settings := range []string{
		`"rate":"1/20s","burst":3`,
		`"rate":"3/40s","algorithm":"fixed-window"`,
		`"rate":"3/40s","algorithm":"sliding-log"`,
		`"rate":"3/40s","algorithm":"sliding-counter"`,
		`"rate":"2/20s","block":"60s"`,
		`"rate":"1/20s","block":{"after":2,"for":{"linear":"30s","max":"90s"}}`,
	} {
		for seed := range uint64(3) {
			random := rand.New(rand.NewPCG(seed, 5))
			document := steps("process", `{"limit":{`+settings+`,"per":"header:x-key","keys":6}}`)
			e, one := start(t, document), newNative(t, document)
			for step := range 500 {
				e.Advance(2*time.Second + time.Duration(random.IntN(6_000))*time.Millisecond)
				name := random.IntN(2 * slots)
				if random.IntN(2) == 0 {
					name = random.IntN(3) // some keys are used up
				}
				if step < slots {
					name = step // the group is full, and every use is recorded from then on
				}
				key := strconv.Itoa(name)
				s := e.filter.Worker(0).Do(host.Get("/", "x-key", key), host.Answer(200))
				got := fmt.Sprintf("%d %s %s", statusOf(s), reasonOf(s), s.Response().Headers.Value("retry-after"))
				h, o := one.begin(e.Monotonic(), key)
				if o.passes {
					one.done(e.Monotonic(), h, reducer.OK)
				}
				if !assert.Equal(t, said(o), got, "%s, seed %d, step %d, key %s", settings, seed, step, key) {
					return
				}
				reasons[o.reason]++
			}
		}
	}
	assert.Greater(t, reasons["rate"], 500)
	assert.Greater(t, reasons["blocked"], 100)
}
