package vectors

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/internal/oracle/generate"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

const (
	cellSteps      = 8_000
	pipelineEvents = 8_000
	randomPolicies = 80
	joinedPolicies = 24
	randomEvents   = 400
)

// generated makes the file from the suites, from random policies and from the
// logs beside sample documents. The core makes its digests.
func generated(t *testing.T) *File {
	t.Helper()
	const from = 1
	f := &File{}
	for i, c := range cells {
		s := Suite{Name: c.name, Policies: [][]byte{[]byte(c.body)}, Step: c.step}
		fill(t, &s, drawSteps(t, &s, rand.New(rand.NewPCG(from, uint64(i))), c.unit))
		f.Suites = append(f.Suites, s)
	}
	for i, c := range cells {
		s := Suite{Name: c.name + ", at the ends of time", Policies: [][]byte{[]byte(c.body)}, Step: c.step}
		fill(t, &s, extremeSteps(t, &s, rand.New(rand.NewPCG(from+1, uint64(i))), c.unit))
		f.Suites = append(f.Suites, s)
	}
	for i, c := range pipelines {
		s := Suite{Name: c.name, Policies: [][]byte{[]byte(c.body)}, Pipeline: true, Seed: uint64(i) << 31}
		for _, beside := range c.beside {
			s.Policies = append(s.Policies, []byte(beside))
		}
		if s.Joined = uint8(len(c.beside)); c.other != "" {
			s.Policies = append(s.Policies, []byte(c.other))
		}
		count := pipelineEvents
		if c.asks || c.beside != nil {
			count /= 2
		}
		if c.asks {
			s.Sets = sets()
		}
		fill(t, &s, drawEvents(t, &s, rand.New(rand.NewPCG(from+2, uint64(i))), c.unit, count))
		f.Suites = append(f.Suites, s)
	}
	for i := range uint64(randomPolicies) {
		rng := rand.New(rand.NewPCG(from+3, i))
		s := Suite{Name: fmt.Sprint("random policy ", i), Policies: [][]byte{randomBody(t, rng), randomBody(t, rng)}, Pipeline: true, Seed: rng.Uint64()}
		fill(t, &s, drawEvents(t, &s, rng, time.Duration(1+rng.IntN(20)), randomEvents))
		f.Suites = append(f.Suites, s)
	}
	for i := range uint64(joinedPolicies) {
		rng := rand.New(rand.NewPCG(from+4, i))
		s := Suite{Name: fmt.Sprint("random policies, joined ", i), Pipeline: true, Seed: rng.Uint64(), Sets: sets()}
		s.Joined = spread(&s, rng)
		fill(t, &s, drawEvents(t, &s, rng, time.Duration(1+rng.IntN(20)), randomEvents))
		f.Suites = append(f.Suites, s)
	}
	for _, folder := range []string{"../policy/testdata/samples", "../eval/testdata"} {
		logs, err := filepath.Glob(filepath.Join(folder, "*.events.ndjson"))
		if err != nil || len(logs) == 0 {
			t.Fatal(folder, err)
		}
		for _, log := range logs {
			s := Suite{Name: "log " + strings.TrimSuffix(filepath.Base(log), ".events.ndjson"), Pipeline: true}
			fill(t, &s, readLog(t, &s, log))
			f.Suites = append(f.Suites, s)
		}
	}
	return f
}

// fill plays the steps on the core for their digests.
func fill(t *testing.T, s *Suite, steps [][]byte) {
	t.Helper()
	s.Count, s.Steps = len(steps), bytes.Join(steps, nil)
	plans, err := s.asks()
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	for n := range s.Sets {
		for _, plan := range plans {
			s.Sets[n].Says = append(s.Sets[n].Says, s.Sets[n].saidTo(plan))
		}
	}
	if s.Digests, err = s.play(Native()); err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
}

// drawSteps draws steps of a cell. It plays them as it goes, so that it names
// permits which there are.
func drawSteps(t *testing.T, s *Suite, r *rand.Rand, unit time.Duration) [][]byte {
	pause := func() int64 {
		switch r.IntN(40) {
		case 0:
			return -int64(r.IntN(3)) * int64(unit)
		case 1:
			return int64(r.IntN(400)) * int64(unit)
		case 2, 3, 4, 5:
			return int64(r.IntN(12)) * int64(unit)
		}
		return int64(r.IntN(3)) * int64(unit) / 2
	}
	return drawn(t, s, r, cellSteps, unit, pause)
}

// extremeSteps draws steps whose marks jump to the ends of the line.
func extremeSteps(t *testing.T, s *Suite, r *rand.Rand, unit time.Duration) [][]byte {
	ends := []int64{math.MinInt64 + 1, math.MinInt64 / 2, -1, 0, 1 << 62, math.MaxInt64 - 1, math.MaxInt64 - 1}
	at, n := int64(0), 0
	pause := func() int64 {
		n++
		to := ends[n*len(ends)/(cellSteps/8+1)] + int64(r.IntN(3))
		if to < 0 && ends[n*len(ends)/(cellSteps/8+1)] > 0 {
			to = math.MaxInt64 - 1
		}
		delta := to - at
		at = to
		return delta
	}
	return drawn(t, s, r, cellSteps/8, unit, pause)
}

func drawn(t *testing.T, s *Suite, r *rand.Rand, count int, unit time.Duration, pause func() int64) (steps [][]byte) {
	t.Helper()
	c, err := (&player{i: Native()}).cell(s)
	if err != nil {
		t.Fatal(s.Name, err)
	}
	for range count {
		step := drawStep(r, len(c.seen), unit)
		if strings.HasPrefix(s.Name, "retry budget, ") {
			step.tallied(r)
		}
		step.delta = pause()
		if _, err := c.take(&step); err != nil {
			t.Fatal(s.Name, err)
		}
		steps = append(steps, step.append(nil))
	}
	return steps
}

// tallied makes a step one of a budget that counts how attempts end: Release has the outcome of
// an attempt, and Acquire the outcome of the attempt before.
func (s *step) tallied(r *rand.Rand) {
	switch reducer.Kind(s.kind) {
	case reducer.Record:
		s.kind = uint8(reducer.Release)
	case reducer.Acquire:
		if r.IntN(3) == 0 {
			s.flags |= hasOutcome
			s.outcome = uint8(reducer.Timeout)
		}
	}
}

func drawStep(r *rand.Rand, seen int, unit time.Duration) step {
	s := step{kind: uint8(reducer.Acquire), cost: 1}
	switch n := r.IntN(100); {
	case n < 40:
	case n < 70 && seen > 0:
		s.kind = uint8(pick(r, reducer.Release, reducer.Record, reducer.Record, reducer.Record, reducer.Cancel))
	case n < 78:
		s.kind = uint8(reducer.Tick)
	case n < 86:
		s.kind = uint8(reducer.Serve)
	case n < 91 && seen > 0:
		s.kind = uint8(pick(r, reducer.Leave, reducer.Expire, reducer.Expire, reducer.Renew))
	case n < 98:
		s.kind = uint8(pick(r, reducer.TryAcquire, reducer.TryAcquire, reducer.Peek, reducer.Reserve, reducer.Commit, reducer.Settle, reducer.Observe))
	case r.IntN(8) == 0:
		s.kind = uint8(pick(r, reducer.Drain, reducer.Reset, reducer.Transition, reducer.Configure, 0, reducer.Configure+1, 255))
	}
	if r.IntN(6) == 0 {
		s.flags |= hasCost
		s.cost = pick[uint32](r, 0, 2, 2, 3, 4, 5, 7, 100, math.MaxUint32)
	}
	switch reducer.Kind(s.kind) {
	case reducer.Acquire, reducer.TryAcquire, reducer.Peek:
		if r.IntN(8) == 0 {
			s.flags |= hasDeadline
			s.deadline = int64(r.IntN(30)-2) * int64(unit)
		}
		if r.IntN(30) == 0 {
			s.flags |= hasPriority
			s.priority = uint8(r.IntN(reducer.MaxPriority + 1))
		}
	case reducer.Observe:
		s.flags |= hasValue
		s.value = uint64(r.IntN(40)) * uint64(unit)
	case reducer.Settle:
		s.flags |= hasValue
		s.value = uint64(r.IntN(7))
		if seen > 0 {
			s.flags |= hasRef
			s.ref = 1 + r.IntN(min(seen, 3))
		}
	case reducer.Record:
		s.flags |= hasOutcome | hasBefore
		s.outcome = uint8(pick(r, reducer.OK, reducer.OK, reducer.Fail, reducer.Fail, reducer.Fail, reducer.Throttle, reducer.Ignore, reducer.Timeout, reducer.Cancelled, 0, 9))
		s.before = uint64(pick(r, 0, 1, int(time.Second), int(3*time.Second)))
		fallthrough
	case reducer.Release, reducer.Cancel, reducer.Leave, reducer.Expire, reducer.Renew, reducer.Commit:
		if seen > 0 {
			s.flags |= hasRef
			s.ref = 1 + r.IntN(min(seen, 6))
		}
	case reducer.Reserve:
		s.flags |= hasPermit
		s.permit = make([]byte, 24)
		s.permit[16+r.IntN(8)] = byte(r.IntN(100))
	}
	if r.IntN(300) == 0 {
		s.flags = s.flags&^hasRef | hasPermit
		s.permit = make([]byte, 24)
		for i := range s.permit {
			s.permit[i] = byte(r.IntN(256) & -r.IntN(2))
		}
	}
	return s
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// sets returns the attributes of the calls of a suite.
func sets() (all []Set) {
	for _, a := range attributes {
		all = append(all, Set{Attributes: a})
	}
	return all
}

// spread gives a suite random policies that share mechanisms, and returns how many join
// the first one.
func spread(s *Suite, r *rand.Rand) uint8 {
	one, _ := generate.GenerateFirst(r, 0)
	choose(&one, r)
	var log []oracle.Event
	for range 2 {
		next, _ := generate.GenerateFirst(r, 0)
		choose(&next, r)
		log = append(log, oracle.Event{Op: "configure", Policy: &next})
	}
	policies, events := generate.Spread(r, one, log)
	joined := len(policies) - 1
	for _, e := range events {
		policies = append(policies, *e.Policy)
	}
	for _, p := range policies {
		s.Policies = append(s.Policies, policy.BodyJSON(p))
	}
	return uint8(joined)
}

// choose draws for which calls the steps of a policy are, and which calls it denies.
func choose(p *pipeline.Policy, r *rand.Rand) {
	some := func() condition.Condition {
		all := []condition.Entry{pick(r, condition.Entry{Attribute: "key", Values: []string{"a", "b"}}, condition.Entry{Attribute: "header:x", Values: []string{"", "a"}},
			condition.Entry{Attribute: "ip", Values: []string{"10.0.0.0/8", ""}})}
		if r.IntN(3) == 0 {
			return condition.Condition{{None: all}}
		}
		return condition.Condition{{All: all}}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if r.IntN(3) == 0 {
			s.When = some()
		}
		if !s.Shadow && r.IntN(4) == 0 {
			s.Enforce = condition.Share{Of: reducer.Percent(50), By: pick(r, "", "key", "header:x")}
		}
	}
	if r.IntN(4) == 0 {
		p.Deny = some()
	}
	if r.IntN(4) == 0 {
		p.Allow = some()
	}
}

func drawEvents(t *testing.T, s *Suite, r *rand.Rand, unit time.Duration, count int) (events [][]byte) {
	t.Helper()
	calls := 0
	for range count {
		e := event{op: opBegin, cost: 1, delta: int64(r.IntN(4)) * int64(unit) / 2}
		if r.IntN(60) == 0 {
			e.delta = int64(r.IntN(300)) * int64(unit)
		}
		switch n := r.IntN(100); {
		case n < 45 || calls == 0:
			calls++
			if r.IntN(8) == 0 {
				e.flags |= hasCost
				e.cost = uint32(r.IntN(4))
			}
			if r.IntN(8) == 0 {
				e.flags |= hasSpan
				e.span = int64(r.IntN(60)) * int64(unit)
			}
			if r.IntN(20) == 0 {
				e.flags |= noHedge
			}
		case n < 85:
			e.op, e.flags = opDone, hasOutcome
			drawAttempt(r, &e)
			e.outcome = uint8(pick(r, reducer.OK, reducer.OK, reducer.Fail, reducer.Fail, reducer.Throttle, reducer.Ignore))
			if r.IntN(10) == 0 {
				e.flags |= hasSpan
				e.span = int64(r.IntN(12)-2) * int64(unit)
			}
		case n < 91:
			e.op = opCancel
		case n < 94:
			e.op = opRenew
			drawAttempt(r, &e)
		case n < 95 && len(s.Policies) > 1:
			e.op, e.ref = opConfigure, r.IntN(len(s.Policies))
		default:
			e.op = opAdvance
		}
		if e.op == opDone || e.op == opCancel || e.op == opRenew {
			e.ref = 1 + r.IntN(min(calls, 8))
		}
		if e.op == opBegin && r.IntN(2) == 0 {
			e.flags |= hasKey
			e.key = uint8(1 + r.IntN(3))
		}
		if e.op == opBegin && r.IntN(10) == 0 {
			e.flags |= lacksKey
		}
		switch {
		case len(s.Sets) == 0:
		case e.op == opBegin:
			e.flags |= hasSet
			e.set = r.IntN(len(s.Sets))
		case e.op == opDone && r.IntN(3) == 0:
			e.flags |= hasUsed
			e.used = uint32(r.IntN(9))
		}
		if s.Joined > 0 {
			e.of = uint8(r.IntN(1 + int(s.Joined)))
			if e.op != opBegin && r.IntN(100) == 0 {
				e = event{op: opJoin, delta: e.delta, of: e.of, ref: r.IntN(len(s.Policies))}
			}
		}
		events = append(events, e.append(nil, s.Joined > 0))
	}
	return events
}

// drawAttempt names an attempt, of which there may be none.
func drawAttempt(r *rand.Rand, e *event) {
	if r.IntN(3) == 0 {
		e.flags |= hasAttempt
		e.attempt = uint8(1 + r.IntN(4))
	}
}

// randomBody returns the body of a random policy.
func randomBody(t *testing.T, r *rand.Rand) []byte {
	t.Helper()
	p, _ := generate.GenerateFirst(r, r.Uint64())
	var document struct {
		Policies map[string]json.RawMessage `json:"policies"`
	}
	if err := json.Unmarshal(generate.PolicyJSON(p), &document); err != nil {
		t.Fatal(err)
	}
	for _, body := range document.Policies {
		return body
	}
	t.Fatal("no policy")
	return nil
}

// readLog reads the events of a log and the policy of the document beside it.
func readLog(t *testing.T, s *Suite, log string) (events [][]byte) {
	t.Helper()
	s.Policies = [][]byte{bodyBeside(t, log)}
	file, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var last time.Duration
	var all []event
	ids, calls := map[string]int{}, 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var l struct {
			Op, Outcome, Key         string
			At, ID, Deadline, Policy json.RawMessage
			Cost                     *uint32
			Attempt                  uint8
			Used                     *uint32
			RetryAfter               json.RawMessage `json:"retry_after"`
			Attributes               map[string]string
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(log, err)
		}
		at := parsed(t, l.At)
		e := event{cost: 1, delta: int64(at - last)}
		last = at
		if l.Cost != nil {
			e.cost, e.flags = *l.Cost, hasCost
		}
		if span := append(l.Deadline, l.RetryAfter...); span != nil {
			e.flags |= hasSpan
			e.span = int64(parsed(t, span))
		}
		if l.Attempt > 0 {
			e.attempt, e.flags = l.Attempt, e.flags|hasAttempt
		}
		switch l.Op {
		case "call":
			e.op = opBegin
			ids[string(l.ID)] = calls
			calls++
			for _, name := range slices.Sorted(maps.Keys(l.Attributes)) {
				value := l.Attributes[name]
				e.flags, e.key = e.flags|hasKey, 1+value[len(value)-1]%3
			}
			e.flags, e.set = e.flags|hasSet, s.setOf(l.Key, l.Attributes)
		case "done":
			e.op, e.flags = opDone, e.flags|hasOutcome
			if l.Used != nil {
				e.used, e.flags = *l.Used, e.flags|hasUsed
			}
			e.outcome = map[string]uint8{"ok": 1, "fail": 2, "throttle": 3, "ignore": 4}[l.Outcome]
		case "cancel":
			e.op = opCancel
		case "renew":
			e.op = opRenew
		case "configure":
			e.op, e.ref = opConfigure, len(s.Policies)
			s.Policies = append(s.Policies, l.Policy)
		}
		if e.op == opDone || e.op == opCancel || e.op == opRenew {
			call, ok := ids[string(l.ID)]
			if !ok {
				continue
			}
			e.ref = calls - call
		}
		all = append(all, e)
	}
	plans, err := s.asks()
	if err != nil {
		t.Fatal(log, err)
	}
	if !slices.ContainsFunc(plans, func(p *pipeline.Plan) bool { return p.Conditional() || p.Priced() != 0 }) {
		s.Sets = nil
	}
	for _, e := range all {
		if e.op == opBegin && s.Sets == nil {
			e.flags &^= hasSet
		}
		events = append(events, e.append(nil, false))
	}
	return events
}

// setOf returns the index of the set of attributes of a call.
func (s *Suite) setOf(key string, attributes map[string]string) int {
	var list []string
	if key != "" {
		list = append(list, "key", key)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		list = append(list, name, attributes[name])
	}
	for n := range s.Sets {
		if slices.Equal(s.Sets[n].Attributes, list) {
			return n
		}
	}
	s.Sets = append(s.Sets, Set{Attributes: list})
	return len(s.Sets) - 1
}

func parsed(t *testing.T, raw json.RawMessage) time.Duration {
	t.Helper()
	text, quoted := strings.CutPrefix(strings.TrimSuffix(string(raw), `"`), `"`)
	if !quoted {
		text += "ns"
	}
	if days, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil {
			t.Fatal(err)
		}
		text = strconv.Itoa(24*n) + "h" + rest
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func bodyBeside(t *testing.T, log string) []byte {
	t.Helper()
	src, err := os.ReadFile(strings.TrimSuffix(log, ".events.ndjson") + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Policies map[string]any
	}
	if err := yaml.Unmarshal(src, &document); err != nil {
		t.Fatal(err)
	}
	for _, body := range document.Policies {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	t.Fatal("no policy beside ", log)
	return nil
}
