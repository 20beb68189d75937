package js_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/bulkhead"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/retry"
	"github.com/sluice-go/sluice/internal/attempt"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/reducer"
)

// nest is a program: calls through guards around each other. Marks and spans are
// milliseconds.
type nest struct {
	Guards  []guard  `json:"guards"`
	Calls   []call   `json:"calls"`
	Actions []action `json:"actions"`
	Until   float64  `json:"until"`
}

// guard is a pipeline or a mechanism alone.
type guard struct {
	Kind     string          `json:"kind"`     // pipeline, or the name of the mechanism
	Body     json.RawMessage `json:"body"`     // the policy, or the settings
	Hook     string          `json:"hook"`     // what the classifier of the user does, empty without one
	Listener bool            `json:"listener"` // there is one that throws, too
	Fallback bool            `json:"fallback"`
}

// call is a function that is called through guards.
type call struct {
	At       float64  `json:"at"`
	ID       string   `json:"id"`
	Chain    []int    `json:"chain"` // the guards, outermost first
	Wrap     bool     `json:"wrap"`
	Cost     uint32   `json:"cost"`     // at each pipeline
	Deadline float64  `json:"deadline"` // 0 for none
	Cancel   float64  `json:"cancel"`   // after At, 0 for never
	Attempts []ending `json:"attempts"` // of its function, the last one for all that follow
}

// ending says how an attempt ends.
type ending struct {
	Takes   float64 `json:"takes"`
	Outcome string  `json:"outcome"`
	After   float64 `json:"after"` // the retry-after, 0 for none
}

// action is what an operator does.
type action struct {
	At    float64         `json:"at"`
	Guard int             `json:"guard"`
	Op    string          `json:"op"`   // reset, transition, configure
	Step  string          `json:"step"` // empty for a mechanism alone
	To    string          `json:"to"`
	Body  json.RawMessage `json:"body"`
}

// String is the program as JSON, a line for each guard, call and action.
func (p nest) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return strings.NewReplacer("},{\"kind", "},\n{\"kind", ",{\"at", ",\n{\"at", ",\"calls\":[", ",\n\"calls\":[\n", ",\"actions\":[", ",\n\"actions\":[\n").Replace(string(text))
}

func span(millis float64) time.Duration { return time.Duration(millis*1e3+0.5) * time.Microsecond }

// TestNestedAgrees runs random programs in Go and in JavaScript, each in virtual time: what
// each call ends with and when, and what each guard emits about it. Programs in which much
// happens at one mark differ, because two runtimes may do what happens then in another order:
// a difference that a program with other marks does not have is counted, and no failure.
func TestNestedAgrees(t *testing.T) {
	node := started(t)
	compared, ambiguous := 0, 0
	for d := range testenv.Draws(t, 600) {
		compared++
		rng := rand.New(rand.NewPCG(d.Seed, uint64(d.Case)))
		p := drawNest(rng)
		if unlike(t, node, p) == "" {
			continue
		}
		if moves(t, node, rng, p) {
			ambiguous++
			continue
		}
		p = shrunk(p, func(p nest) bool { return unlike(t, node, p) != "" && !moves(t, node, rng, p) })
		t.Fatalf("SLUICE_SEED=%d, case %d:\n%s\n%s", d.Seed, d.Case, p, unlike(t, node, p))
	}
	t.Logf("%d of %d cases ambiguous and different", ambiguous, compared)
	// The share is some 2 %, and depends on the scheduler.
	if ambiguous > compared/15+5 {
		t.Errorf("%d of %d", ambiguous, compared)
	}
}

// moves reports whether a difference is one of what happens at one mark: with other marks
// there is none, or two calls pass steps at one mark, because a refusal told both when,
// because one window admits both, or because one makes room for the other.
func moves(t *testing.T, node *runtime, rng *rand.Rand, p nest) bool {
	t.Helper()
	var lines map[string][]string
	synctest.Test(t, func(t *testing.T) { lines = p.inGo(t) })
	starts, passes := map[string]bool{}, map[string]string{}
	for where, all := range lines {
		at, id, _ := strings.Cut(where, " ")
		id, _, _ = strings.Cut(id, "#")
		for i, line := range all {
			words := strings.Fields(line)
			_, start, ok := strings.Cut(line, " until ")
			if ok && starts[start] {
				return true
			}
			starts[start] = true
			call := id
			if id == "" {
				call = fmt.Sprint(at, " ", i) // which of the calls it is about is not known
			}
			var marks []string
			if slices.Contains([]string{"admit", "wait", "reject", "expire"}, words[1]) {
				if marks = append(marks, at+" asks "+words[0]); id != "" {
					marks = append(marks, "asks "+words[0])
				}
			}
			// The call at whose end another one goes on steps a guard around both of them, and so does the other one.
			if words[1] != "admit" && words[1] != "wait" {
				marks = append(marks, at+" ends "+words[0])
			}
			for _, mark := range marks {
				if other, ok := passes[mark]; ok && other != call {
					return true
				}
				passes[mark] = call
			}
		}
	}
	for range 3 {
		// Goroutines that are ready at one mark run in any order.
		if unlike(t, node, p) == "" || unlike(t, node, jittered(rng, p)) == "" {
			return true
		}
	}
	return false
}

// jittered is a program whose marks and spans are some microseconds others.
func jittered(rng *rand.Rand, p nest) nest {
	other := func(millis float64) float64 {
		if millis == 0 {
			return 0
		}
		return millis + float64(rng.IntN(400))/1e3
	}
	p.Calls, p.Actions = slices.Clone(p.Calls), slices.Clone(p.Actions)
	for i := range p.Calls {
		c := &p.Calls[i]
		c.At, c.Deadline, c.Cancel, c.Attempts = other(c.At), other(c.Deadline), other(c.Cancel), slices.Clone(c.Attempts)
		for k := range c.Attempts {
			c.Attempts[k].Takes = other(c.Attempts[k].Takes)
		}
	}
	for i := range p.Actions {
		p.Actions[i].At = other(p.Actions[i].At)
	}
	return p
}

// shrunk leaves out of a program what its failure does not need.
func shrunk(p nest, fails func(nest) bool) nest {
	for smaller := true; smaller; {
		smaller = false
		try := func(q nest) bool {
			if !fails(q) {
				return false
			}
			p, smaller = q, true
			return true
		}
		for i := len(p.Calls) - 1; i >= 0; i-- {
			q := p
			q.Calls = slices.Delete(slices.Clone(p.Calls), i, i+1)
			try(q)
		}
		for i := len(p.Actions) - 1; i >= 0; i-- {
			q := p
			q.Actions = slices.Delete(slices.Clone(p.Actions), i, i+1)
			try(q)
		}
		for i := range p.Guards {
			for _, change := range []func(g *guard){
				func(g *guard) { g.Hook = "" },
				func(g *guard) { g.Listener = false },
				func(g *guard) { g.Body = withoutStep(g.Body, 0) },
				func(g *guard) { g.Body = withoutStep(g.Body, 1) },
				func(g *guard) { g.Body = withoutStep(g.Body, 2) },
			} {
				q := p
				q.Guards = slices.Clone(p.Guards)
				if change(&q.Guards[i]); q.Guards[i].Kind == "pipeline" && fmt.Sprint(q.Guards[i]) != fmt.Sprint(p.Guards[i]) {
					try(q)
				}
			}
		}
		for i := range p.Calls {
			for k := range p.Calls[i].Chain {
				if len(p.Calls[i].Chain) == 1 {
					break
				}
				q := p
				q.Calls = slices.Clone(p.Calls)
				q.Calls[i].Chain = slices.Delete(slices.Clone(p.Calls[i].Chain), k, k+1)
				if try(q) {
					break
				}
			}
			for k := range p.Calls[i].Attempts {
				if len(p.Calls[i].Attempts) == 1 {
					break
				}
				q := p
				q.Calls = slices.Clone(p.Calls)
				q.Calls[i].Attempts = slices.Delete(slices.Clone(p.Calls[i].Attempts), k, k+1)
				if try(q) {
					break
				}
			}
		}
	}
	return p
}

// withoutStep leaves a step of a policy out, unless it is the only one.
func withoutStep(body json.RawMessage, i int) json.RawMessage {
	var p struct {
		Steps    []json.RawMessage `json:"steps"`
		Fallback json.RawMessage   `json:"fallback,omitempty"`
	}
	if json.Unmarshal(body, &p) != nil || i >= len(p.Steps) || len(p.Steps) == 1 {
		return body
	}
	p.Steps = slices.Delete(p.Steps, i, i+1)
	text, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return text
}

// unlike returns how the two runtimes differ on a program, or nothing.
func unlike(t *testing.T, node *runtime, p nest) string {
	t.Helper()
	var answer struct {
		Lines map[string][]string
		Left  int
		Error string
	}
	node.run(t, p, &answer)
	if answer.Error != "" || answer.Left != 0 {
		return fmt.Sprintf("%d calls are left; %s", answer.Left, answer.Error)
	}
	var want map[string][]string
	synctest.Test(t, func(t *testing.T) { want = p.inGo(t) })
	var all []string
	for where := range answer.Lines {
		all = append(all, where)
	}
	for where := range want {
		all = append(all, where)
	}
	slices.Sort(all)
	for _, where := range slices.Compact(all) {
		got, want := compared(where, answer.Lines[where]), compared(where, want[where])
		if !slices.Equal(got, want) {
			return fmt.Sprintf("%s, JavaScript:\n%s\nGo:\n%s", where, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	return ""
}

// compared are the lines of which two runtimes agree. What a guard emits without a key is of
// several calls, whose order at one mark is open. The runner of Go emits timeouts and hedges of
// steps in shadow when the call next progresses.
func compared(where string, lines []string) (all []string) {
	for _, line := range lines {
		words := strings.Fields(line)
		if words[1] == "change" {
			// In Go a breaker becomes half-open when a call asks it, and a change does not say that its step is in shadow.
			if line = strings.TrimSuffix(line, " shadow"); strings.HasSuffix(line, " half-open") {
				continue
			}
		}
		ends := func(other string) bool {
			return strings.HasPrefix(other, words[0]+" ") && !strings.HasSuffix(other, " soft")
		}
		if strings.HasSuffix(line, " soft") && slices.ContainsFunc(lines, ends) {
			continue // whether it comes before what else happens at its mark is open
		}
		late := words[1] == "timeout" || words[1] == "hedge" || words[1] == "expire"
		if late && strings.HasSuffix(line, " shadow") {
			continue
		}
		at := len(all)
		for ends := strings.HasSuffix(line, " soft"); ends && at > 0 && line < all[at-1] && strings.HasPrefix(all[at-1], words[0]+" "); {
			at-- // two soft limits of one mark
		}
		all = slices.Insert(all, at, line)
	}
	if strings.HasSuffix(where, " ") || strings.HasSuffix(where, " change") {
		slices.Sort(all)
	}
	return all
}

// stage runs a program in Go.
type stage struct {
	program nest
	began   time.Time
	guards  []sluice.Guard

	mu    sync.Mutex
	over  bool
	lines map[string][]string
}

// inGo runs the program in the bubble and returns what happened.
func (p nest) inGo(t *testing.T) map[string][]string {
	s := &stage{program: p, began: time.Now(), lines: map[string][]string{}}
	for i, g := range p.Guards {
		s.guards = append(s.guards, s.made(t, i, g))
	}
	type event struct {
		at float64
		do func()
	}
	var events []event
	var live sync.WaitGroup
	var cancels []context.CancelFunc
	for i := range p.Calls {
		c := &p.Calls[i]
		ctx, cancel := context.WithCancel(context.Background())
		cancels = append(cancels, cancel)
		events = append(events, event{c.At, func() {
			if c.Cancel > 0 {
				time.AfterFunc(span(c.Cancel), cancel)
			}
			live.Go(func() { s.call(ctx, c) })
		}})
	}
	for i := range p.Actions {
		a := &p.Actions[i]
		events = append(events, event{a.At, func() { s.act(t, a) }})
	}
	slices.SortStableFunc(events, func(a, b event) int { return int(span(a.at) - span(b.at)) })
	for _, e := range events {
		time.Sleep(time.Until(s.began.Add(span(e.at))))
		synctest.Wait()
		e.do()
		synctest.Wait()
	}
	time.Sleep(time.Until(s.began.Add(span(p.Until))))
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
	live.Wait()
	return s.lines
}

// note writes down what happened.
func (s *stage) note(where, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.lines[where] = append(s.lines[where], text)
	}
}

// made makes a guard with its classifier and listeners.
func (s *stage) made(t *testing.T, i int, g guard) sluice.Guard {
	t.Helper()
	options := []sluice.Option{sluice.WithLogger(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1})))}
	if g.Kind == "pipeline" || g.Kind == "retry" {
		options = append(options, sluice.WithSeed(0))
	}
	if verdict, ok := map[string]reducer.Outcome{"fail": reducer.Fail, "throttle": reducer.Throttle, "ignore": reducer.Ignore, "strange": 99}[g.Hook]; ok {
		options = append(options, sluice.WithClassifyResult(func(_ string, _ any, err error) reducer.Outcome {
			if err == nil {
				return 0
			}
			return verdict
		}))
	}
	body, name := g.Body, "p"+strconv.Itoa(i)
	if g.Kind != "pipeline" {
		body = []byte(`{"steps":[{"` + g.Kind + `":` + string(g.Body) + `}]}`)
	}
	p, err := document.ParseOneJSON("policy", body)
	if err != nil {
		t.Fatal(err)
	}
	p.Name = name
	var made interface {
		sluice.Guard
		Listen(f func(sluice.Event), kinds ...sluice.EventKind) func()
	}
	switch c := p.Steps[0].Config.(type) {
	case limiter.Config:
		if g.Kind == "limit" {
			made, err = sluice.NewLimiter(c, options...)
		}
	case breaker.Config:
		if g.Kind == "breaker" {
			made, err = sluice.NewBreaker(c, options...)
		}
	case bulkhead.Config:
		if g.Kind == "bulkhead" {
			made, err = sluice.NewBulkhead(c, options...)
		}
	case retry.Config:
		if g.Kind == "retry" {
			made, err = sluice.NewRetry(c, options...)
		}
	}
	if made == nil {
		made, err = sluice.New(p.Policy, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if g.Listener {
		made.Listen(func(sluice.Event) { panic("listener") })
	}
	origin := attempt.Now()
	made.Listen(func(e sluice.Event) {
		// JavaScript does not tell when a place is returned or a waiting caller leaves.
		if (g.Kind == "bulkhead" || g.Kind == "limit") && e.Kind == decision.End {
			return
		}
		if g.Kind != "pipeline" {
			e.Step = "" // there is only one
		}
		if text := facts(e, e.At.Sub(origin)); text != "" {
			key := e.Key
			if e.Kind == decision.Change {
				key = "change"
			}
			s.note(strconv.Itoa(i)+" "+key, text)
		}
	})
	return made
}

// facts returns what of an event is compared, nothing of one that JavaScript does not have.
func facts(e sluice.Event, at time.Duration) string {
	switch {
	case !e.Kind.Logged() && e.Kind != decision.Change, e.Kind == decision.Lapse, e.Kind == decision.Full:
		return ""
	}
	words := []string{shown(at), e.Kind.String()}
	if e.Kind == decision.Retry {
		e.Outcome = 0 // the reason says it
	}
	if e.Attempt > 0 && e.Kind != decision.Reject && e.Kind != decision.Expire {
		words = append(words, fmt.Sprint(e.Attempt))
	}
	for _, word := range []string{e.Step, e.Outcome.String(), e.Reason.String()} {
		if word != "" {
			words = append(words, word)
		}
	}
	switch e.Kind {
	case decision.Change:
		words = append(words, e.Mode.String())
	case decision.Retry:
		words = append(words, "until", shown(at+e.Wait))
	case decision.Reject:
		if e.RetryAfter >= 0 {
			words = append(words, "after", shown(e.RetryAfter))
		}
	}
	if e.Won > 0 {
		words = append(words, "won", fmt.Sprint(e.Won))
	}
	for _, flag := range []struct {
		word string
		is   bool
	}{{"shadow", e.Shadow}, {"fallback", e.Fallback}, {"soft", e.Soft}} {
		if flag.is {
			words = append(words, flag.word)
		}
	}
	return strings.Join(words, " ")
}

// shown is a span in milliseconds, to the microsecond.
func shown(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Round(time.Microsecond).Microseconds())/1e3, 'f', -1, 64)
}

func (s *stage) act(t *testing.T, a *action) {
	t.Helper()
	modes := []breaker.Mode{breaker.Closed, breaker.Open, breaker.HalfOpen, breaker.ForcedOpen, breaker.ForcedClosed, breaker.MetricsOnly}
	mode := breaker.Closed
	for _, m := range modes {
		if m.String() == a.To {
			mode = m
		}
	}
	var err error
	switch g := s.guards[a.Guard].(type) {
	case *sluice.Pipeline:
		switch a.Op {
		case "configure":
			next, failed := document.ParseOneJSON("policy", a.Body)
			if failed != nil {
				t.Fatal(failed)
			}
			next.Name = g.Name()
			err = g.Configure(next.Policy)
		case "transition":
			err = g.Step(a.Step).Transition(mode)
		default:
			err = g.Step(a.Step).Reset()
		}
	case *sluice.Breaker:
		if a.Op == "transition" {
			g.Transition(mode)
		} else {
			g.Reset()
		}
	}
	if err != nil {
		s.note("actions", shown(time.Since(s.began))+" failed") // a step that another policy does not have
	}
}

// call makes a call and writes down how it ends.
func (s *stage) call(ctx context.Context, c *call) {
	run := &running{stage: s, call: c, entered: make([]int, len(c.Chain))}
	value, err := run.layer(0)(ctx)
	text := fmt.Sprint("ok ", value)
	if err != nil {
		text = ended(err)
	}
	s.note("call "+c.ID, shown(time.Since(s.began))+" "+text)
}

// ended says what an error of a call is.
func ended(err error) string {
	var gaveUp *sluice.RetryError
	for errors.As(err, &gaveUp) && err == error(gaveUp) {
		err = gaveUp.Err
	}
	switch e := err.(type) {
	case *sluice.RejectedError:
		text := "rejected " + e.Step + " " + e.Reason.String()
		if e.RetryAfter >= 0 {
			text += " after " + shown(e.RetryAfter)
		}
		return text
	case *sluice.TimeoutError:
		return "timeout " + e.Step
	case *wish:
		return "error " + e.outcome.String()
	}
	if errors.Is(err, context.Canceled) {
		return "cancelled"
	}
	return "error " + err.Error()
}

// running is a call that has begun.
type running struct {
	*stage
	*call

	counts  sync.Mutex
	entered []int // how often each layer was
	tries   int
}

func (r *running) next(count *int) int {
	r.counts.Lock()
	defer r.counts.Unlock()
	*count++
	return *count - 1
}

// layer returns the function that calls the function of the call through the guards from
// the i-th on.
func (r *running) layer(i int) func(context.Context) (int, error) {
	if i == len(r.Chain) {
		return r.work
	}
	at := r.Chain[i]
	fn := func(ctx context.Context) (int, error) {
		ctx, stop := undated(ctx)
		defer stop()
		return r.layer(i + 1)(ctx)
	}
	p, ok := r.guards[at].(*sluice.Pipeline)
	if !ok {
		return sluice.Wrap(r.guards[at], fn)
	}
	return func(ctx context.Context) (int, error) {
		var q sluice.Request
		if !r.Wrap {
			q.Key = fmt.Sprintf("%s#%d", r.ID, r.next(&r.entered[i]))
			if q.Cost = r.Cost; r.Cost == 0 {
				q.Cost = sluice.NoCost
			}
			if i == 0 {
				q.Timeout = span(r.Deadline)
			}
		}
		value, err := sluice.DoWith(ctx, p, q, fn)
		if r.program.Guards[at].Fallback {
			return sluice.OrElse(ctx, value, err, sluice.FallbackOf(p, func(sluice.FallbackConfig) (int, error) { return -1, nil }))
		}
		return value, err
	}
}

// undated returns a context that ends with another one, as cancelled, and has no deadline: a
// signal in JavaScript has none, so that an inner policy does not know the deadline of an outer
// one.
func undated(ctx context.Context) (context.Context, func()) {
	bare, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	return bare, func() { stop(); cancel() }
}

// work is an attempt of the function.
func (r *running) work(ctx context.Context) (int, error) {
	e := r.Attempts[min(r.next(&r.tries), len(r.Attempts)-1)]
	select {
	case <-time.After(span(e.Takes)):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	err := &wish{after: span(e.After)}
	switch e.Outcome {
	case "ok":
		return 1, nil
	case "fail":
		err.outcome = reducer.Fail
	case "throttle":
		err.outcome = reducer.Throttle
	default:
		err.outcome = reducer.Ignore
	}
	return 0, err
}

// wish is an error with a meaning.
type wish struct {
	outcome reducer.Outcome
	after   time.Duration
}

func (w *wish) Error() string                     { return "wish" }
func (w *wish) Outcome() reducer.Outcome          { return w.outcome }
func (w *wish) RetryAfter() (time.Duration, bool) { return w.after, w.after > 0 }
