package proptest

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/drive"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// The invariants of conditions: the calls that a step applies to, its classes and its
// share of the calls, and those that a policy allows and denies.

// conditionLines are the invariants of conditions.
var conditionLines = []property{
	{"W1", "to calls that it does not apply to, a step is not there: they decide as without it", W1, []machine{flowing},
		under("asks a step that does not apply to the call", func(p *pipeline.Policy) {
			for i := range p.Steps {
				p.Steps[i].When = nil
			}
		})},
	{"W2", "a call takes nothing at a step that does not apply to it: other calls decide, and the cells are, as without it", W2, []machine{flowing},
		driven("charges calls that its steps do not apply to", func(f *flow, t told) []told {
			if t.Kind == decision.Admit && f.value(t.call, "key") == outside {
				f.charge()
			}
			return []told{t}
		})},
	{"W3", "the value of an attribute decides whether a call belongs to the share of a step: one value always belongs to it or never, and the share of all values does", W3, []machine{flowing},
		under("chooses by the name of another step", func(p *pipeline.Policy) { p.Steps[0].Name += "-2" })},
	{"W4", "without an attribute a step enforces for its share of the calls, and a greater share for the same ones and more", W4, []machine{flowing},
		under("draws by the share, too", func(p *pipeline.Policy) { p.Steps[0].Name += p.Steps[0].Enforce.Of.String() })},
	{"W5", "a step decides the same for whatever share it enforces: calls outside of the share take of the same cell", W5, []machine{flowing},
		machine{name: "three pipelines that have cells of their own", flows: spread(false)}},
	{"W6", "a denied call is refused at once, also where it is allowed; an allowed one passes as under a policy without steps", W6, []machine{flowing},
		under("asks allow before deny", func(p *pipeline.Policy) {
			p.Deny = slices.Clone(p.Deny)
			p.Deny[0].None = p.Allow[0].All
		})},
	{"W7", "calls that are denied or allowed take nothing: other calls decide, and the cells are, as without them", W7, []machine{flowing},
		driven("charges calls that it allows", func(f *flow, t told) []told {
			if t.Reason == reducer.ReasonAllowed {
				f.charge()
			}
			return []told{t}
		})},
	{"W8", "a call is charged at the limit of its class alone, and one of no class at the limit of the others: each decides as a limit of its own", W8, []machine{flowing},
		under("charges the limit of the others for every call", func(p *pipeline.Policy) { p.Steps[len(p.Steps)-1].When = nil })},
}

// prefixLines compare the prefixes of conditions with the prefixes of net/netip.
var prefixLines = []property{
	{"W9", "the whole address of a call is compared with the prefixes of ip, however many of its bits are a key, IPv4 in IPv6 as IPv4", W9,
		[]machine{{name: "condition", matches: func(prefix, value string) bool {
			test := must(condition.New("when", condition.Condition{{All: []condition.Entry{{Attribute: keyed.IP, Values: []string{prefix}}}}}))
			return test.Matches(func(string) string { return value })
		}}},
		machine{name: "condition that compares the network that is the key", matches: func(prefix, value string) bool {
			test := must(condition.New("when", condition.Condition{{All: []condition.Entry{{Attribute: keyed.IP, Values: []string{prefix}}}}}))
			key := keyed.Key(keyed.IP, value)
			p, _ := keyed.ParsePrefix(prefix)
			network, _ := keyed.ParseClient(key)
			return p.Bits <= network.Bits && test.Matches(func(string) string { return key })
		}}},
	{"W10", "the key of ip is the network of so many bits as the value says: two addresses have one key when they have one network", W10,
		[]machine{{name: "key", keyOf: func(value string) string { return keyed.Key(keyed.IP, value) }}},
		machine{name: "key that is the whole value", keyOf: func(value string) string { return value }}},
}

// charge is a defect: it asks all steps of the policy for one permit, and takes it.
func (f *flow) charge() {
	f.driver.Cancel(f.driver.Begin(&drive.Request{Cost: 1, Deadline: -1}))
	f.driver.Decisions = nil
}

// outside is the value of calls that a drawn condition does not match.
const outside = "out"

// drawWhen draws a condition that matches all values of key but outside.
func drawWhen(w uint64) condition.Condition {
	is := func(values ...string) []condition.Entry {
		return []condition.Entry{{Attribute: "key", Values: values}}
	}
	return pick(w,
		condition.Condition{{All: is("a", "b")}},
		condition.Condition{{None: is(outside)}},
		condition.Condition{{All: is("b")}, {All: is("a"), None: is(outside, "c")}})
}

// values gives each call one of some values of key.
func values(w uint64, some ...string) func(n int, attribute string) string {
	return func(n int, _ string) string { return pick(w>>(n%61)^uint64(n/61), some...) }
}

// states ends all calls, whose numbers are in the states of places and queues, and returns
// the encoded states of the cells of all steps.
func (f *flow) states() (all []byte) {
	for _, handle := range f.handles {
		f.driver.Cancel(handle)
	}
	for i := range f.driver.Plan().Len() {
		all = fmt.Appendf(all, "%d %x\n", i, f.driver.AppendState(nil, i, 0))
	}
	return all
}

// W1: all calls are outside of the condition of one step.
func W1(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	i := int(h.word(1) % uint64(len(p.Steps)))
	for _, t := range played(flowing, p, h).said {
		if t.Step == p.Steps[i].Name {
			m.meet()
		}
	}
	chosen := pipeline.Policy{Steps: slices.Clone(p.Steps)}
	chosen.Steps[i].When = drawWhen(h.word(1) >> 8)
	without := pipeline.Policy{Steps: slices.Delete(slices.Clone(p.Steps), i, i+1)}
	without.Pass = len(without.Steps) == 0
	f := m.flows(chosen)
	f.value = func(int, string) string { return outside }
	f.play(h.steps())
	return agree("W1", f.said, played(flowing, without, h).said, func(told) bool { return true })
}

// W2: all steps have one condition, and some calls match it.
func W2(m machine, h history) error {
	p := drawPolicy(h.word(0), true)
	for i := range p.Steps {
		p.Steps[i].When = drawWhen(h.word(1))
	}
	value := values(h.word(1)>>2, "a", outside, "b", outside)
	all, alone, passing := m.flows(p), newFlow(p), newFlow(pipeline.Policy{Pass: true})
	all.value, alone.value = value, value
	alone.skip, passing.skip = map[int]bool{}, map[int]bool{}
	for n := range h {
		out := value(n, "key") == outside
		alone.skip[n], passing.skip[n] = out, !out
	}
	all.play(h.steps())
	alone.play(h.steps())
	passing.play(h.steps())
	if err := undisturbed("W2", m, all, alone); err != nil {
		return err
	}
	return agree("W2", all.said, passing.said, func(t told) bool { return alone.skip[t.call] })
}

// undisturbed compares the answers to calls, and the states, with a run without the calls that
// it skips.
func undisturbed(rule string, m machine, all, alone *flow) error {
	if err := agree(rule, all.said, alone.said, func(t told) bool {
		if !alone.skip[t.call] && t.Kind != decision.Admit {
			m.meet()
		}
		return !alone.skip[t.call]
	}); err != nil {
		return err
	}
	if got, want := all.states(), alone.states(); !bytes.Equal(got, want) {
		return fmt.Errorf("%s: the states are %s, without the calls %s", rule, got, want)
	}
	return nil
}

// sharing is a policy of one limit that refuses all calls but the first, for a share of
// them.
func sharing(name string, share reducer.Share, by string) pipeline.Policy {
	return pipeline.Policy{Steps: []pipeline.Step{{Name: name, Config: limiter.Config{Count: 1, Period: time.Hour},
		Enforce: condition.Share{Of: share, By: by}}}}
}

// enforced plays n calls under sharing, and returns for which of those that the limit
// refuses it enforces.
func (m machine) enforced(p pipeline.Policy, n int, value func(n int, attribute string) string) (yes []bool) {
	f := m.flows(p)
	f.value = value
	for range n + 1 {
		f.begin(1)
	}
	f.collect()
	for _, t := range f.said {
		if t.Kind == decision.Reject {
			m.meet()
			yes = append(yes, !t.Shadow)
		}
	}
	return yes
}

// near reports an error where a number of draws is more than six standard deviations away
// from their share.
func near(yes []bool, share reducer.Share) error {
	n, got := float64(len(yes)), 0.0
	for _, y := range yes {
		if y {
			got++
		}
	}
	of := float64(share.Millionths()) / reducer.Whole
	if math.Abs(got-n*of) > 1+6*math.Sqrt(n*of*(1-of)) {
		return fmt.Errorf("%v of %v calls, with a share of %s", got, n, share)
	}
	return nil
}

// counted is how many calls W3 and W4 count.
const counted = 250

// W3: the hash of the reference pages, by the hash of the standard library.
func W3(m machine, h history) error {
	name := fmt.Sprintf("limit-%d", h.word(0)%1000)
	share := reducer.Millionths(1 + uint32(h.word(1)%reducer.Whole))
	value := func(n int, _ string) string { return fmt.Sprintf("%x-%d", h.word(2), n/2) }
	yes := m.enforced(sharing(name, share, "header:x-user"), 2*counted, value)
	var once []bool // for each value
	for i, y := range yes {
		if i%2 == 0 {
			once = append(once, y)
		}
		x := fnv.New32a()
		x.Write([]byte(name + "\x00" + value(i+1, "")))
		hash := x.Sum32()
		hash = (hash ^ hash>>16) * 0x85ebca6b
		hash = (hash ^ hash>>13) * 0xc2b2ae35
		part := new(big.Int).Mul(big.NewInt(int64(hash^hash>>16)), big.NewInt(reducer.Whole))
		if want := part.Rsh(part, 32).Int64() < int64(share.Millionths()); y != want {
			return fmt.Errorf("W3: the limit enforces for %q with a share of %s: %t", value(i+1, ""), share, y)
		}
	}
	return near(once, share)
}

// W4: two shares of one step, for the same calls.
func W4(m machine, h history) error {
	name := fmt.Sprintf("limit-%d", h.word(0)%100_000)
	low := 1 + uint32(h.word(1)%reducer.Whole)
	high := low + uint32(h.word(2)%uint64(reducer.Whole+1-low))
	few := m.enforced(sharing(name, reducer.Millionths(low), ""), counted, nil)
	many := m.enforced(sharing(name, reducer.Millionths(high), ""), counted, nil)
	for i := range few {
		if few[i] && !many[i] {
			return fmt.Errorf("W4: call %d belongs to %s and not to %s", i+2, reducer.Millionths(low), reducer.Millionths(high))
		}
	}
	return near(few, reducer.Millionths(low))
}

// W5: alone in a policy, without a queue, a step reports the same whether it enforces for a
// share of the calls or is in shadow, as M7 has it.
func W5(m machine, h history) error {
	steps := drawPolicy(h.word(0), false).Steps
	alone := steps[h.word(1)%uint64(len(steps))]
	part, none := alone, alone
	part.Enforce = condition.Share{Of: reducer.Percent(50), By: pick(h.word(1)>>8, "", "key")}
	none.Shadow = true
	a, b := m.flows(pipeline.Policy{Steps: []pipeline.Step{part}}), newFlow(pipeline.Policy{Steps: []pipeline.Step{none}})
	a.value = values(h.word(1)>>16, "a", "b", "c", "d")
	a.play(h.steps())
	b.play(h.steps())
	shadows, enforces := false, false
	for _, said := range [...][]told{a.said, b.said} {
		for i := range said {
			t := &said[i]
			if t.Kind == decision.Reject || t.Kind == decision.Timeout {
				shadows, enforces = shadows || t.Shadow, enforces || !t.Shadow
			}
			t.Shadow, t.Last = false, false
		}
	}
	if shadows && enforces {
		m.meet()
	}
	return agree("W5", a.said, b.said, func(t told) bool { return t.Kind == decision.Reject || t.Kind == decision.Timeout })
}

// choosing is a policy that denies the keys d and b, and allows a and b.
func choosing(w uint64) pipeline.Policy {
	p := drawPolicy(w, true)
	p.Deny = condition.Condition{{All: []condition.Entry{{Attribute: "key", Values: []string{"b", "d"}}}}}
	p.Allow = condition.Condition{{All: []condition.Entry{{Attribute: "key", Values: []string{"a", "b"}}}}}
	return p
}

// W6: the decisions of calls that are denied, and of those that are allowed.
func W6(m machine, h history) error {
	value := values(h.word(1), "", "a", "b", "d")
	f, passing := m.flows(choosing(h.word(0))), newFlow(pipeline.Policy{Pass: true})
	f.value = value
	f.play(h.steps())
	passing.play(h.steps())
	allowed, denied := map[int]bool{}, map[int]int{}
	for n := range f.handles {
		switch value(n, "key") {
		case "a":
			allowed[n] = true
		case "b", "d":
			denied[n] = 0
		}
	}
	for i := range f.said {
		t := &f.said[i]
		if allowed[t.call] && t.Kind == decision.Admit && t.Reason == reducer.ReasonAllowed {
			t.Reason = 0
		}
		if n, ok := denied[t.call]; ok {
			m.meet()
			denied[t.call]++
			if n > 0 || t.At != f.began[t.call] || t.Kind != decision.Reject || t.Reason != reducer.ReasonDenied || t.Step != "deny" || t.RetryAfter >= 0 || !t.Last {
				return fmt.Errorf("W6: %s", t.text())
			}
		}
	}
	for n, told := range denied {
		if told == 0 {
			return fmt.Errorf("W6: call %d is denied without a decision", n)
		}
	}
	return agree("W6", f.said, passing.said, func(t told) bool { return allowed[t.call] })
}

// W7: the decisions of the other calls.
func W7(m machine, h history) error {
	p := choosing(h.word(0))
	value := values(h.word(1), "", "a", "", "d")
	all, alone := m.flows(p), newFlow(p)
	all.value, alone.value = value, value
	alone.skip = map[int]bool{}
	for n := range h {
		alone.skip[n] = value(n, "key") != ""
	}
	all.play(h.steps())
	alone.play(h.steps())
	return undisturbed("W7", m, all, alone)
}

// W8: a limit of three rates, and for each class a limit of its rate alone with the calls
// of the class alone.
func W8(m machine, h history) error {
	w := h.word(0)
	rest := fmt.Sprintf(`"algorithm":"%s"`, pick(w, "token-bucket", "fixed-window", "sliding-counter", "sliding-log"))
	if w>>2%2 == 0 {
		rest += fmt.Sprintf(`,"wait":"%dns"`, 1+w>>3%40)
	}
	var rates [3]string
	for i := range rates {
		rates[i] = fmt.Sprintf(`"%d/%dns"`, 1+w>>(10+10*i)%4, 4+w>>(14+10*i)%24)
	}
	read := func(settings string) pipeline.Policy {
		return must(policy.ParseOne("w8.json", []byte(`{"steps":[{"limit":{`+settings+","+rest+`}}]}`))).Policy
	}
	value := values(h.word(1), "free", "pro", "", "gold")
	all := m.flows(read(`"rate":` + rates[0] + `,"class":"header:plan","rates":{"free":` + rates[1] + `,"pro":` + rates[2] + `}`))
	all.value = value
	all.play(h.steps())
	for i, class := range [...]string{"", "free", "pro"} {
		of := func(n int) bool {
			return value(n, "header:plan") == class || class == "" && value(n, "header:plan") == "gold"
		}
		alone := newFlow(read(`"rate":` + rates[i]))
		alone.skip = map[int]bool{}
		for n := range h {
			alone.skip[n] = !of(n)
		}
		alone.play(h.steps())
		for j := range all.said {
			if t := &all.said[j]; of(t.call) && t.Step != "" {
				m.meet()
				if t.Step != strings.TrimSuffix("limit-"+class, "-") {
					return fmt.Errorf("W8: a call of class %q: %s", class, t.text())
				}
				t.Step = "limit"
			}
		}
		if err := agree("W8 "+class, all.said, alone.said, func(t told) bool { return of(t.call) }); err != nil {
			return err
		}
	}
	return nil
}

// W9: the prefixes of net/netip.
func W9(m machine, h history) error {
	for _, w := range h {
		r := rand.New(rand.NewPCG(w, 0))
		address := testenv.Address(r)
		prefix, value := testenv.Network(r, address), spelled(r, address)
		want := prefix.Contains(address.Unmap().WithZone(""))
		if want {
			m.meet()
		}
		if got := m.matches(prefix.String(), value); got != want {
			return fmt.Errorf("W9: %s in %s: %t", value, prefix, got)
		}
	}
	return nil
}

// W10: two addresses and their networks.
func W10(m machine, h history) error {
	for _, w := range h {
		r := rand.New(rand.NewPCG(w, 0))
		one := testenv.Address(r).Unmap().WithZone("")
		other, bits := testenv.Network(r, one).Addr(), r.IntN(one.BitLen()+1)
		network := must(one.Prefix(bits))
		same := network.Contains(other)
		if same {
			m.meet()
		}
		of := func(a netip.Addr) string { return m.keyOf(a.String() + "/" + strconv.Itoa(bits)) }
		if (of(one) == of(other)) != same {
			return fmt.Errorf("W10: %s and %s of %d bits: %s, %s", one, other, bits, of(one), of(other))
		}
		if got, _ := netip.ParsePrefix(of(one)); bits < one.BitLen() && got != network {
			return fmt.Errorf("W10: %s of %d bits: %s", one, bits, of(one))
		}
	}
	return nil
}

// spelled writes an address in one of the forms in which a runtime may name it, mostly with
// the number of bits that are the key.
func spelled(r *rand.Rand, a netip.Addr) string {
	text := a.String()
	switch r.IntN(6) {
	case 0:
		text = strings.ToUpper(text)
	case 1:
		if a.Is6() {
			text = "[" + text + "]"
		}
		text += ":443"
	case 2:
		if a.Is6() {
			text = "[" + text + "]"
		}
	}
	if r.IntN(3) > 0 {
		text += "/" + strconv.Itoa(r.IntN(a.BitLen()+1))
	}
	return text
}
