package host_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/proxywasm/host"
)

func TestSharedDataRules(t *testing.T) {
	t.Parallel()
	p := newProcess(t, host.Config{})
	set := func(vm, key, value string, cas uint32) host.Status {
		return p.SetSharedData(vm, key, []byte(value), cas)
	}
	get := func(vm, key string) string {
		value, cas, ok := p.SharedData(vm, key)
		return fmt.Sprint(string(value), " ", cas, " ", ok)
	}
	assert.Equal(t, " 0 false", get("", "a"))
	assert.Equal(t, host.OK, set("", "a", "created", 0xFFFFFFFF), "an absent key takes any number")
	assert.Equal(t, "created 1 true", get("", "a"))
	assert.Equal(t, host.CASMismatch, set("", "a", "late", 0xFFFFFFFF), "create-if-absent finds the key")
	assert.Equal(t, host.OK, set("", "a", "blind", 0), "0 overwrites")
	assert.Equal(t, host.CASMismatch, set("", "a", "late", 1))
	assert.Equal(t, host.OK, set("", "a", "next", 2))
	assert.Equal(t, host.OK, set("other", "a", "x", 7), "a VM id has keys of its own")
	assert.Equal(t, "x 4 true", get("other", "a"), "the counter is one for all")
	assert.Equal(t, "next 3 true", get("", "a"))

	p.SetNextCAS(0xFFFFFFFF)
	set("", "b", "last", 0)
	assert.Equal(t, "last 4294967295 true", get("", "b"))
	set("", "b", "wrapped", 0xFFFFFFFF)
	assert.Equal(t, "wrapped 1 true", get("", "b"), "0 is left out")
	assert.Equal(t, []string{"a", "b"}, p.SharedKeys(""))
}

// entry is a value of the model.
type entry struct {
	value string
	cas   int
}

// TestSharedDataModel compares what guests of two VM ids on three workers see with
// a plain model, in random orders.
func TestSharedDataModel(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed()
	t.Logf("SLUICE_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := newProcess(t, host.Config{Workers: 3})
	model, counter := map[string]entry{}, 1
	for range 60 {
		vm := []string{"", "other"}[random.IntN(2)]
		var script, want []string
		for range 1 + random.IntN(8) {
			key := string(rune('a' + random.IntN(3)))
			old, known := model[vm+"/"+key]
			if random.IntN(2) == 0 {
				script = append(script, "get "+key)
				switch {
				case !known:
					want = append(want, fmt.Sprintf("get %s = 1 ", key))
				default:
					want = append(want, fmt.Sprintf("get %s = 0 %s cas %d", key, old.value, old.cas))
				}
				continue
			}
			value := strings.Repeat("v", random.IntN(200))
			written := value
			if value == "" {
				written = "_"
			}
			cas := []int{0, old.cas, old.cas + 1, 0xFFFFFFFF, random.IntN(20)}[random.IntN(5)]
			operation := fmt.Sprintf("set %s %s %d", key, written, cas)
			script = append(script, operation)
			if known && cas != 0 && cas != old.cas {
				want = append(want, operation+" = 8 ")
				continue
			}
			want = append(want, operation+" = 0 ")
			model[vm+"/"+key] = entry{value, counter}
			counter++
		}
		plugin := plugin("request_headers: " + strings.Join(script, "; "))
		plugin.VM.ID = vm
		f := load(t, p, plugin)
		f.Worker(random.IntN(3)).Do(host.Get("/"), host.Answer(200))
		require.Equal(t, strings.Join(want, " / "), said(p))
	}
	for name, entry := range model {
		vm, key, _ := strings.Cut(name, "/")
		value, cas, ok := p.SharedData(vm, key)
		assert.Equal(t, fmt.Sprint(entry.value, entry.cas, true), fmt.Sprint(string(value), cas, ok), name)
	}
}

// Data and queues of a VM id live as long as a VM with the id.
func TestSharedDataEnds(t *testing.T) {
	t.Parallel()
	p := newProcess(t, host.Config{})
	first := plugin("request_headers: set key value 0; register queue")
	first.VM.ID = "id"
	second := first
	second.VM.Config = []byte("another VM")
	f, g := load(t, p, first), load(t, p, second)
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, "set key value 0 = 0  / register queue = 0 1", said(p))
	s := f.Worker(0).Stream(host.StreamOptions{})
	s.RequestHeaders(host.Get("/"), host.End)
	f.Drain()
	g.Drain()
	assert.Equal(t, []string{"key"}, p.SharedKeys("id"), "a stream keeps the VM")
	s.Reset()
	assert.Empty(t, p.SharedKeys("id"))
	third := first
	third.Config = []byte("request_headers: resolve id queue; register queue")
	load(t, p, third).Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, "resolve id queue = 1  / register queue = 0 2", said(p))
}

func TestQueues(t *testing.T) {
	t.Parallel()
	p, f := start(t, host.Config{Workers: 2}, "request_headers: register jobs; enqueue last one; enqueue last two; dequeue 9; enqueue 9 x; resolve _ jobs; resolve other jobs\n"+
		"queue_ready: dequeue last\n"+
		"tick: dequeue 1\n"+
		"configure: period 10")
	f.Worker(0).Do(host.Get("/"), host.Answer(200))
	assert.Equal(t, "register jobs = 0 1 / enqueue last one = 0  / enqueue last two = 0  / dequeue 9 = 1  / enqueue 9 x = 1  / "+
		"resolve _ jobs = 0 1 / resolve other jobs = 1 ", said(p))
	require.True(t, f.Worker(1).Tick())
	assert.Equal(t, "dequeue 1 = 0 one", said(p), "any VM can take a message")
	assert.Equal(t, 2, p.RunPosted())
	lines := p.TakeLogs()
	require.Len(t, lines, 2)
	assert.Equal(t, "0 dequeue last = 0 two", strconv.Itoa(lines[0].Thread)+" "+lines[0].Text)
	assert.Equal(t, "dequeue last = 7 ", lines[1].Text, "an empty queue is EMPTY")
	assert.Zero(t, p.RunPosted())

	// The root that registers last gets the announcements.
	f.Worker(1).Do(host.Get("/"), host.Answer(200))
	f.Worker(1).Kill()
	said(p)
	assert.Equal(t, 2, p.RunPosted(), "a dead VM gets nothing")
	assert.Empty(t, said(p))
}
