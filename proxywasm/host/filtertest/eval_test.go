package filtertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/eval"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/refusals"
	"github.com/sluice-go/sluice/proxywasm/host"
	"github.com/sluice-go/sluice/reducer"
)

// TestAsEval sends random requests through random policies in state worker: each is
// decided as by sluice eval at the same marks, those that wait with the first tick from
// the mark on.
func TestAsEval(t *testing.T) {
	t.Parallel()
	waits, decided := 0, map[string]int{}
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 3))
		list := randomSteps(random)
		document := steps("worker", list)
		doc, err := policy.Parse("p.json", []byte(document))
		require.NoError(t, err, "seed %d", seed)
		e := start(t, document)
		c := &script{envoy: e, random: random}
		c.run(120)
		var out bytes.Buffer
		require.NoError(t, eval.Run(doc.Policies[0].Policy, eval.Options{}, &c.log, &out), "seed %d", seed)
		want := decisions(t, &out)
		for id, r := range c.requests {
			w := want[id]
			if w.at > r.began {
				waits++
			}
			if r.left && (w.kind == "" || w.seen(r) > r.ends) {
				continue // left before it was told
			}
			decided[w.kind+" "+w.Reason]++
			if !assert.Equal(t, w.text(r), r.text(), "seed %d, request %d of %s", seed, id, list) {
				return
			}
		}
	}
	assert.Greater(t, waits, 200)
	for _, kind := range []string{"admit ", "reject rate", "reject open", "reject probes", "reject full", "reject wait", "expire wait", "expire full"} {
		assert.Positive(t, decided[kind], kind)
	}
}

// randomSteps returns the steps of a policy with what the filter performs.
func randomSteps(random *rand.Rand) string {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	queue := func() string {
		return pick("", "", fmt.Sprintf(`,"wait":"%dms"`, 20+random.IntN(300)),
			fmt.Sprintf(`,"wait":"%dms","queue":%d,"order":%q`, 20+random.IntN(300), 1+random.IntN(3), pick("oldest", "newest")))
	}
	per := func() string { return pick("", "", `,"per":"header:x-key"`, `,"per":"header:x-key","missing":"deny"`) }
	var list []string
	for i := range 1 + random.IntN(3) {
		name := fmt.Sprintf(`"name":"s%d"`, i) + pick("", "", "", "", `,"shadow":true`)
		switch random.IntN(3) {
		case 0:
			algorithm := pick("token-bucket", "fixed-window", "sliding-counter", "sliding-log", "leaky-bucket")
			waits := queue()
			if algorithm == "leaky-bucket" {
				waits = `,"wait":"200ms"`
			}
			list = append(list, fmt.Sprintf(`{"limit":{"rate":"%d/%dms","algorithm":%q,%s%s%s}}`, 1+random.IntN(6), 50+random.IntN(200), algorithm, name, waits, per()))
		case 1:
			window := pick(`"window":{"consecutive":2}`, `"window":{"calls":6},"minimum":3,"failure_rate":"50%"`, `"window":{"time":"1s"},"minimum":3,"failure_rate":"40%","slow":{"over":"100ms","rate":"60%"}`)
			list = append(list, fmt.Sprintf(`{"breaker":{%s,"open":"%dms","probes":%d,%s%s}}`, window, 50+random.IntN(300), 1+random.IntN(3), name, per()))
		default:
			list = append(list, fmt.Sprintf(`{"bulkhead":{"concurrent":%d,%s%s%s}}`, 1+random.IntN(3), name, queue(), per()))
		}
	}
	return strings.Join(list, ",")
}

// script is a run of random requests on one worker, and its events for eval.
type script struct {
	envoy    *envoy
	random   *rand.Rand
	log      bytes.Buffer
	requests []*attempt
}

// attempt is a request of a script.
type attempt struct {
	stream *host.Stream
	began  time.Duration
	// passed is when it went upstream, 0 for never, and ends when it ended.
	passed, ends time.Duration
	left         bool
}

func (c *script) run(events int) {
	for range events {
		c.pass(time.Duration(c.random.IntN(40_000)) * time.Microsecond)
		c.event()
		c.look()
	}
	c.pass(time.Second)
	fmt.Fprintf(&c.log, `{"at":%d,"op":"tick"}`+"\n", c.envoy.Monotonic())
}

// pass lets time pass, with ticks at all multiples of their period.
func (c *script) pass(by time.Duration) {
	for to := c.envoy.Monotonic() + by; ; {
		next := c.envoy.Monotonic().Truncate(waitTick) + waitTick
		if next > to {
			c.envoy.SetMonotonic(to)
			return
		}
		c.envoy.SetMonotonic(next)
		c.envoy.filter.Worker(0).Tick()
		c.look()
	}
}

// look notes what has happened to the requests.
func (c *script) look() {
	for _, r := range c.requests {
		now := c.envoy.Monotonic()
		if r.passed == 0 && r.stream.Upstream() != nil {
			r.passed = now
		}
		if r.ends == 0 && r.stream.Ended() {
			r.ends = now
		}
	}
}

// line adds an event to the log of eval.
func (c *script) line(op string, id int, more string) {
	fmt.Fprintf(&c.log, `{"at":%d,"op":%q,"id":%d%s}`+"\n", c.envoy.Monotonic(), op, id, more)
}

// event begins a request or ends one.
func (c *script) event() {
	live := []int{}
	for id, r := range c.requests {
		if r.ends == 0 {
			live = append(live, id)
		}
	}
	if len(live) == 0 || c.random.IntN(2) == 0 && len(live) < 8 {
		r := &attempt{began: c.envoy.Monotonic()}
		header, attributes := []string{}, ""
		if key := c.random.IntN(4); key > 0 {
			header = []string{"x-key", strconv.Itoa(key)}
			attributes = fmt.Sprintf(`,"attributes":{"header:x-key":"%d"}`, key)
		}
		c.line("call", len(c.requests), attributes)
		r.stream = c.envoy.begin(0, header...)
		c.requests = append(c.requests, r)
		return
	}
	id := live[c.random.IntN(len(live))]
	r := c.requests[id]
	if r.stream.Upstream() == nil || c.random.IntN(6) == 0 {
		if c.random.IntN(2) == 0 {
			return
		}
		r.left = true
		c.line("cancel", id, "")
		r.stream.Reset()
		return
	}
	kind := c.random.IntN(4)
	c.line("done", id, `,"outcome":"`+[]string{"ok", "fail", "ignore", "throttle"}[kind]+`"`)
	answer(r.stream, []int{200, 500, 404, 429}[kind])
}

// decided is the decision of eval about a request.
type decided struct {
	At         string
	ID         int
	Decision   string
	Reason     string
	RetryAfter string `json:"retry_after"`
	Shadow     bool

	kind string
	at   time.Duration
}

// decisions returns the decision about each request.
func decisions(t *testing.T, out *bytes.Buffer) map[int]decided {
	t.Helper()
	list := map[int]decided{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var d decided
		require.NoError(t, json.Unmarshal(lines.Bytes(), &d))
		if d.Shadow || d.Decision != "admit" && d.Decision != "reject" && d.Decision != "expire" {
			continue
		}
		var err error
		d.at, err = time.ParseDuration(d.At)
		require.NoError(t, err)
		d.kind = d.Decision
		list[d.ID] = d
	}
	return list
}

// seen is when the request is told: at once, or with the next tick.
func (d *decided) seen(r *attempt) time.Duration {
	if d.at == r.began {
		return d.at
	}
	return (d.at + waitTick - 1).Truncate(waitTick)
}

// text is what a client sees of a decision.
func (d *decided) text(r *attempt) string {
	seen := d.seen(r)
	if d.kind == "admit" {
		return fmt.Sprintf("passes at %v", seen)
	}
	after := time.Duration(-1)
	if d.RetryAfter != "" {
		after, _ = time.ParseDuration(d.RetryAfter)
	}
	text := ""
	if seconds, comes := refusals.ComeBack(reasonNamed(d.Reason), after); comes {
		text = strconv.FormatInt(seconds, 10)
	}
	return fmt.Sprintf("%s at %v, retry after %s", d.Reason, seen, text)
}

// reasonNamed returns the reason of a name.
func reasonNamed(name string) reducer.Reason {
	for r := reducer.NoReason; ; r++ {
		if r.String() == name {
			return r
		}
	}
}

// text is what the client saw.
func (r *attempt) text() string {
	if r.passed > 0 {
		return fmt.Sprintf("passes at %v", r.passed)
	}
	if r.stream.Response() == nil {
		return "waits"
	}
	return fmt.Sprintf("%s at %v, retry after %s", reasonOf(r.stream), r.ends, r.stream.Response().Headers.Value("retry-after"))
}
