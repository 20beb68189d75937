package shared_test

import (
	"bytes"
	"fmt"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/shared"
	"github.com/sluice-go/sluice/reducer"
)

// memory is a Store of one goroutine.
type memory struct {
	values map[string]value
	writes uint64
	now    clock.Mark
}

type value struct {
	bytes   []byte
	version uint64
}

func (m *memory) Get(key []byte) ([]byte, uint64) {
	v := m.values[string(key)]
	return v.bytes, v.version
}

func (m *memory) Swap(key, text []byte, version uint64) bool {
	if m.values[string(key)].version != version {
		return false
	}
	m.writes++
	m.values[string(key)] = value{bytes.Clone(text), m.writes}
	return true
}

func (m *memory) Now() clock.Mark { return m.now }

// Two processes share a limit of two calls a minute.
func Example() {
	plan, err := pipeline.Compile(pipeline.Policy{Name: "search", Steps: []pipeline.Step{
		{Config: limiter.Config{Count: 2, Period: time.Minute}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	store := &memory{values: map[string]value{}}
	var hosts [2]*shared.Host
	for i := range hosts {
		process := &shared.Process{Store: store, Member: uint32(i)}
		hosts[i], err = process.Host(plan, func(c *shared.Call, d *decision.Decision) {
			switch d.Kind {
			case decision.Admit:
				fmt.Println("process", i, "call", c.ID, d.Kind)
			case decision.Reject:
				fmt.Println("process", i, "call", c.ID, d.Kind, d.Reason, "retry after", d.RetryAfter)
			}
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	for id := range 3 {
		call := &shared.Call{ID: uint64(id)}
		host := hosts[id%2]
		host.Begin(call, 1, nil)
		host.End(call, reducer.OK)
		store.now = store.now.Add(time.Second)
	}
	// Output:
	// process 0 call 0 admit
	// process 1 call 1 admit
	// process 0 call 2 reject rate retry after 28s
}
