package policy_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/backoff"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/calendar"
	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planbytes"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/internal/randompolicy"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// planWriter writes plan bytes as wasm/PLAN.md describes them, from the table of
// mechanisms and the drafts of their configurations. names has the step and the name
// of the value of each byte.
type planWriter struct {
	bytes []byte
	names []planbytes.Error
	step  int
	words uint8 // bits of the maps that the step has, beside the bits of its set of words
}

func (w *planWriter) put(name string, src ...byte) {
	for _, b := range src {
		w.bytes = append(w.bytes, b)
		w.names = append(w.names, planbytes.Error{Step: w.step, Field: name})
	}
}

func (w *planWriter) number(name string, n uint64) { w.put(name, binary.AppendUvarint(nil, n)...) }

func (w *planWriter) text(name, text string) {
	w.number(name, uint64(len(text)))
	w.put(name, []byte(text)...)
}

func (w *planWriter) flag(name string, on bool) {
	if on {
		w.put(name, 1)
	} else {
		w.put(name, 0)
	}
}

func (w *planWriter) plan(p *pipeline.Plan) {
	w.step = -1
	w.put("version", planbytes.Version)
	lists, flags := p.Conditions(), byte(0)
	if p.Fallback() != nil {
		flags = 1
	}
	flags += 2*byte(min(len(lists.Allow), 1)) + 4*byte(min(len(lists.Deny), 1))
	w.put("flags", flags)
	w.put("steps", byte(p.Len()))
	w.condition("allow", lists.Allow)
	w.condition("deny", lists.Deny)
	for i := range p.Len() {
		w.step = i
		s := p.Step(i)
		w.put("kind", byte(s.Kind()))
		flags := byte(s.WhenFull)*2 + byte(s.Missing)*4
		if s.Shadow {
			flags++
		}
		if s.Mechanism != "" {
			flags += 16
		}
		flags += 32 * byte(min(len(s.When), 1))
		if s.Enforce.Of.Positive() {
			flags += 64
		}
		w.put("flags", flags)
		w.text("name", s.Name)
		w.number("per", uint64(len(s.Per)))
		for _, attribute := range s.Per {
			w.text("per", attribute)
		}
		w.number("keys", uint64(p.Keys(i).Keys))
		if s.Mechanism != "" {
			w.text("mechanism", s.Mechanism)
		}
		w.condition("when", s.When)
		if s.Enforce.Of.Positive() {
			w.number("enforce", uint64(s.Enforce.Of.Millionths()))
			w.text("enforce", s.Enforce.By)
		}
		draft := mechanisms.Docs(s.Kind()).Draft(s.Config)
		w.words = 0
		w.settings(mechanisms.Row(s.Kind()).Settings, "", draft, s.Config)
	}
}

// condition writes a condition, nothing for none.
func (w *planWriter) condition(name string, c condition.Condition) {
	if len(c) == 0 {
		return
	}
	w.number(name, uint64(len(c)))
	for _, one := range c {
		for _, entries := range [][]condition.Entry{one.All, one.None} {
			w.number(name, uint64(len(entries)))
			for _, e := range entries {
				w.text(name, e.Attribute)
				w.number(name, uint64(len(e.Values)))
				for _, value := range e.Values {
					w.text(name, value)
				}
			}
		}
	}
}

func (w *planWriter) settings(list []mechanism.Setting, prefix string, draft mechanism.Draft, config mechanism.Config) {
	for i := range list {
		if s := &list[i]; s.Type == mechanism.Zone {
			if config.(limiter.Config).Calendar.Unit != calendar.NoUnit {
				w.words |= s.Bit
			}
		} else if s.Bit != 0 {
			name := s.Name
			if len(s.Parts) > 0 {
				name += "." + s.Parts[0].Name
			}
			if !reflect.ValueOf(draft.Field(name)).Elem().IsZero() {
				w.words |= s.Bit
			}
		}
	}
	for i := range list {
		s := &list[i]
		name := prefix + s.Name
		if s.Bit != 0 && w.words&s.Bit == 0 {
			continue
		}
		switch s.Type {
		case mechanism.Methods, mechanism.Attribute, mechanism.Rates:
		case mechanism.Map:
			w.settings(s.Parts, name+".", draft, config)
		case mechanism.OneOf:
			variant := int(config.(breaker.Config).Window)
			w.put(name, byte(variant))
			n := -1
			for j := range s.Parts {
				if s.Parts[j].Variant {
					n++
				}
				if n == variant {
					w.settings(s.Parts[j:j+1], name+".", draft, config)
				}
			}
		case mechanism.Zone:
			if c := config.(limiter.Config).Calendar; c.Unit != calendar.NoUnit {
				w.put("rate", byte(c.Unit))
				for _, n := range c.Zone.Pack() {
					w.number(name, uint64(n))
				}
				w.number("rate", uint64(c.Epoch))
			}
		default:
			w.value(s.Type, name, draft.Field(name), config)
		}
	}
}

func (w *planWriter) value(of mechanism.Type, name string, field any, config mechanism.Config) {
	switch v := field.(type) {
	case *time.Duration:
		w.number(name, uint64(*v))
	case *uint32:
		w.number(name, uint64(*v))
	case *reducer.Share:
		w.number(name, uint64(v.Millionths()))
	case *bool:
		w.flag(name, *v)
	case *uint8:
		w.put(name, *v)
	case mechanism.RateField:
		w.number(name, uint64(*v.Count))
		w.number(name, uint64(*v.Period))
	case mechanism.WordsField:
		if w.words == 0 {
			w.put(name, *v.Set)
		} else {
			w.put(name, *v.Set|mechanism.MoreBit, w.words)
		}
	case mechanism.CostField:
		w.text(name, *v.Attribute)
		w.number(name, uint64(*v.Permits))
	case mechanism.DelayField:
		w.number(name, uint64(*v.Duration))
		w.number(name, uint64(v.Percentile.Millionths()))
	case mechanism.BoundField:
		w.number(name, uint64(*v.Duration))
		w.number(name, uint64(v.Share.Millionths()))
	case budget.Field:
		w.budget(name, v.Config, config)
	case *backoff.Config:
		if of != mechanism.Jitter {
			w.delays(name, v)
		}
		if of != mechanism.Backoff && of != mechanism.BlockTime {
			w.put(name, byte(v.Jitter))
			w.number(name, uint64(v.Share.Millionths()))
		}
	}
}

// delays writes a backoff without its jitter.
func (w *planWriter) delays(name string, c *backoff.Config) {
	w.put(name, byte(c.Kind))
	if c.Kind == backoff.Listed {
		w.number(name, uint64(c.Delays.Len()))
		for i := range c.Delays.Len() {
			w.number(name, uint64(c.Delays.At(i)))
		}
		return
	}
	w.number(name, uint64(c.Base))
	w.number(name, uint64(c.Factor))
	w.number(name, uint64(c.Max))
}

func (w *planWriter) budget(name string, b *budget.Config, config mechanism.Config) {
	given, none := false, false
	switch c := config.(type) {
	case retry.Config:
		given = c.Budgeted
	case hedge.Config:
		given, none = c.Budgeted, c.Unbudgeted
	}
	switch {
	case none:
		w.put(name, 2)
	case !given:
		w.put(name, 0)
	case b.Rule == budget.Tokens:
		w.put(name, 3)
		for _, n := range []uint32{b.Tokens, b.Retry, b.Timeout, b.Refund} {
			w.number(name, uint64(n))
		}
	case b.Rule == budget.Adaptive:
		w.put(name, 5)
		for _, n := range []uint64{uint64(b.Window), uint64(b.OneAbove.Millionths()), uint64(b.TwoAbove.Millionths()), uint64(b.Wait)} {
			w.number(name, n)
		}
	case b.Rule == budget.Throttle:
		w.put(name, 4)
		w.number(name, uint64(b.Tokens))
		w.number(name, uint64(b.TokenRatio.Millionths()/1000))
	default:
		w.put(name, 1)
		w.number(name, uint64(b.Ratio.Millionths()))
		w.number(name, uint64(b.MinimumCount))
		w.number(name, uint64(b.MinimumPeriod))
		w.number(name, uint64(b.Window))
	}
}

// checkPlanBytes compares the bytes of a policy with those that the page describes,
// and the plan that they decode to with the policy's own.
func checkPlanBytes(t *testing.T, p *policy.Policy, src string) {
	plan, err := pipeline.Compile(p.Policy)
	require.NoError(t, err, src)
	var want planWriter
	want.plan(plan)
	got := planbytes.Append([]byte("before"), plan)
	require.Equal(t, "before", string(got[:6]))
	got = got[6:]
	require.Equal(t, hex.Dump(want.bytes), hex.Dump(got), src)
	again, err := planbytes.Compile(got)
	require.NoError(t, err, src)
	require.Equal(t, got, planbytes.Append(nil, again), src)
	require.Equal(t, plan.Len(), again.Len())
	require.Equal(t, plan.Fallback() != nil, again.Fallback() != nil)
	for i := range plan.Len() {
		a, b := plan.Step(i), again.Step(i)
		if len(a.Per) > 0 {
			a.Keys, b.Keys = plan.Keys(i).Keys, again.Keys(i).Keys
		}
		require.Equal(t, a, b, src)
	}
	for cut := range want.bytes {
		_, err := planbytes.Decode(want.bytes[:cut])
		require.Equal(t, &want.names[cut], err, "%s cut at %d", src, cut)
	}
	_, err = planbytes.Decode(append(got, 0))
	require.Equal(t, &planbytes.Error{Step: plan.Len() - 1, Field: "end"}, err, src)
}

// TestPlanBytes compares the bytes of plans with the table of mechanisms.
func TestPlanBytes(t *testing.T) {
	for _, file := range goodFiles(t) {
		doc := parseFile(t, file)
		for i := range doc.Policies {
			checkPlanBytes(t, &doc.Policies[i], file+" "+doc.Policies[i].Name)
		}
	}
	random := rand.New(rand.NewPCG(11, 12))
	var seen [mechanism.Kinds]int
	for accepted := 0; accepted < 300; {
		src := `{"steps":` + randompolicy.Steps(random) + `}`
		p, err := policy.ParseOne("p.json", []byte(src))
		if err != nil {
			continue
		}
		accepted++
		for _, s := range p.Steps {
			seen[s.Kind()]++
		}
		checkPlanBytes(t, p, src)
	}
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		assert.Greater(t, seen[k], 10, k)
	}
}

// TestPlanBytesThatDoNotCompile: the error names the step and the setting.
func TestPlanBytesThatDoNotCompile(t *testing.T) {
	limit := "\x04\x00\x01a\x00\x00" + "\x00\x01\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	timeout := "\x01\x00\x01b\x00\x00" + "\x09\x01"
	for _, c := range []struct {
		src, want string
		step      int
		field     string
	}{
		{"\x02\x00\x01" + limit, "", -1, "version"},
		{"\x01\x08\x01" + limit, "", -1, "flags"},
		{"\x01\x00\x00\x00", "", -1, "end"},
		{"\x01\x00\x11" + strings.Repeat(limit, 17), "", -1, "steps"},
		{"\x01\x00\x01\x00" + limit[1:], "", 0, "kind"},
		{"\x01\x00\x01\xff" + limit[1:], "", 0, "kind"},
		{"\x01\x00\x01\x04\x0c" + limit[2:], "", 0, "flags"},
		{"\x01\x00\x01\x04\x80" + limit[2:], "", 0, "flags"},
		{"\x01\x00\x01\x04\x10\x01a\x00\x00\xff\xff\xff\xff\x0f", "", 0, "mechanism"},
		{"\x01\x00\x02\x04\x10\x01a\x00\x00\x01m" + limit[6:] + "\x04\x10\x01b\x00\x00\x01m" + limit[6:], "mechanism: another step has its state", 1, "name"},
		{"\x01\x00\x01\x04\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "", 0, "name"},
		{"\x01\x00\x01\x04\x00\x01a\xff\xff\xff\xff\x0f", "", 0, "per"},
		{"\x01\x00\x01\x04\x00\x01a\x00\x80\x00", "", 0, "keys"},
		{"\x01\x00\x01\x01\x00\x01b\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", "", 0, "after"},
		{"\x01\x00\x01\x04\x02\x01a\x00\x00\x00\x01\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00", "found 0; allowed keys, when_full and missing beside per alone", 0, "keys"},
		{"\x01\x00\x02" + timeout + limit[:6] + "\x05\x01\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00", "found 5; allowed ", 1, "algorithm"},
		{"\x01\x00\x01" + limit[:len(limit)-4] + "\x02\x00\x00\x00", "found 2; allowed ", 0, "cost"},
		{"\x01\x00\x01" + limit[:len(limit)-3] + "\x03\x00\x00", "found 3; allowed ", 0, "charge"},
		{"\x01\x00\x01" + limit[:len(limit)-2] + "\x01\x00", "found 1; allowed 0 beside ChargeStart", 0, "settle_max"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x01", "", 0, "block.after"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x00", "", 0, "counts"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x80", "", 0, "counts"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x04\x00", "", 0, "rate"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x04\x01\x80", "", 0, "zone"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x04\x01" + strings.Repeat("\x80\x80\x40", 2) + strings.Repeat("\x00\x80\x80\x40", 2) + "\x00", "found 1; allowed fixed-window alone has a calendar", 0, "calendar.unit"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x80", "found 128; allowed ", 0, "counts"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x01\x01\x00\x00\x00\x00", "", 0, "block.for"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x02\x00\x03", "", 0, "warm_up.over"},
		{"\x01\x00\x01" + limit[:len(limit)-1] + "\x40\x02\x05\x01", "found 1; allowed ", 0, "warm_up.factor"},
		{"\x01\x00\x02" + timeout + timeout, "name: another step has it", 1, "name"},
		{"\x01\x00\x01\x01\x00\x08deadline\x00\x00\x09\x00", "name: deadline is reserved", 0, "name"},
		{"\x01\x00\x02" + strings.Repeat("\x06\x00\x00\x00\x00\x09\x00\x01\x00\x00\x00\x00", 2), "steps: one may be a hedge", -1, "steps"},
		{"\x01\x00\x02" + "\x01\x00\x01b\x00\x00\x00\x00" + "\x01\x00\x01b\x00\x00\x00\x00", "found 0s; allowed ", 0, "after"},
		{"\x01\x00\x01\x06\x00\x00\x00\x00\x09\x00\x01\x00\x00\x00\x06", "", 0, "budget"},
		{"\x01\x00\x01\x06\x00\x00\x00\x00\x09\x00\x01\x00\x00\x00\x04\x05\xc1\x84\x3d", "", 0, "budget"},
		{"\x01\x00\x01\x06\x00\x00\x00\x00\x09\x00\x01\x00\x00\x00\x03\x05\x06\x01\x01", "found 6; allowed ", 0, "budget.retry"},
	} {
		_, err := planbytes.Compile([]byte(c.src))
		var wrong *planbytes.Error
		if !assert.ErrorAs(t, err, &wrong, "%q", c.src) {
			continue
		}
		assert.Equal(t, c.step, wrong.Step, "%q: %v", c.src, err)
		assert.Equal(t, c.field, wrong.Field, "%q: %v", c.src, err)
		if c.want == "" {
			assert.NoError(t, errors.Unwrap(err), "%q", c.src)
			assert.Contains(t, err.Error(), c.field+": cut off, or a number that is not allowed")
		} else {
			assert.ErrorContains(t, errors.Unwrap(err), c.want, "%q", c.src)
		}
	}
}
