package proptest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/tokenbucket"
	"github.com/sluice-go/sluice/reducer"
)

type g struct {
	a     reducer.Action
	ready clock.Mark
	live  bool
	res   bool
	name  string
}

func TestZZ(t *testing.T) {
	best := 99
	bad := 0
	for seed := range uint64(3_000_000) {
		r := rand.New(rand.NewPCG(seed, 7))
		T := int64(1 + r.IntN(4))
		burst := uint32(1 + r.IntN(3))
		m, _ := tokenbucket.New(tokenbucket.Config{Count: 1, Period: time.Duration(T), Burst: burst})
		s := m.Init(0)
		now := clock.Mark(0)
		var gs []g
		log := fmt.Sprintf("T=%d burst=%d:", T, burst)
		n := 2 + r.IntN(8)
		allowLateResCancel := true
		for range n {
			now = now.Add(time.Duration(r.IntN(3) * r.IntN(4)))
			c := uint32(1 + r.IntN(int(burst)))
			switch k := r.IntN(6); {
			case k < 2:
				a := m.Step(&s, reducer.Action{Kind: reducer.TryAcquire, Cost: c}, now, nil)
				if a.Verdict == reducer.Admit {
					gs = append(gs, g{reducer.Action{Kind: reducer.Cancel, Cost: c, Permit: a.Permit}, now, true, false, ""})
					log += fmt.Sprintf(" A%d=acq %d@%d", len(gs)-1, c, now)
				}
			case k < 4:
				a := m.Step(&s, reducer.Action{Kind: reducer.Reserve, Cost: c, Permit: reducer.Permit{Mark: now + 12}}, now, nil)
				if a.Verdict == reducer.Admit {
					gs = append(gs, g{reducer.Action{Kind: reducer.Cancel, Cost: c, Permit: a.Permit}, m.ReadyAt(a.Permit), true, true, ""})
					log += fmt.Sprintf(" A%d=res %d@%d ready %d", len(gs)-1, c, now, m.ReadyAt(a.Permit))
				}
			default:
				if len(gs) == 0 {
					continue
				}
				i := r.IntN(len(gs))
				if !gs[i].live || gs[i].res && gs[i].ready < now && !allowLateResCancel {
					continue
				}
				before := s
				a := m.Step(&s, gs[i].a, now, nil)
				gs[i].live = false
				log += fmt.Sprintf(" cancel A%d@%d (%d, TAT %d->%d)", i, now, a.Verdict, before.TAT, s.TAT)
			}
		}
		for i := range gs {
			if !gs[i].live {
				continue
			}
			for j := range gs {
				if !gs[j].live || gs[j].ready < gs[i].ready {
					continue
				}
				sum := int64(0)
				for k := range gs {
					if gs[k].live && gs[k].ready >= gs[i].ready && gs[k].ready <= gs[j].ready {
						sum += int64(gs[k].a.Cost)
					}
				}
				if sum > int64(burst)+int64(gs[j].ready-gs[i].ready)/T {
					bad++
					if len(gs) < best {
						best = len(gs)
						fmt.Println(best, log, "=> sum", sum, "in", gs[i].ready, gs[j].ready)
					}
				}
			}
		}
	}
	fmt.Println("bad", bad)
}
