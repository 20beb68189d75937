package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/operate"
	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
)

// operator serves the routes of the admin address that need a token: what the steps know,
// the last events, and changes by hand.
type operator struct {
	set     *sluice.Set
	log     *slog.Logger
	tokens  *tokens
	process string         // its name in identifiers of events
	ipv6    int            // bits of an address of IPv6 that are a key
	recent  *sluice.Recent // of the notable kinds
	keys    keyBreakers
	readers atomic.Int64 // of streams
	refused sparse       // lines about requests without a token
}

// newOperator returns an operator that listens to the notable events of a set, and to none
// of requests while no reader wants them.
func newOperator(set *sluice.Set, log *slog.Logger, tokens *tokens) *operator {
	o := &operator{set: set, log: log, tokens: tokens, process: rand.Text()[:10], recent: sluice.NewRecent(keptEvents)}
	o.keys.changes = map[keyBreaker]time.Time{}
	set.Listen(o.recent.Observe, notable...)
	set.Listen(o.keys.observe, sluice.EventChange)
	return o
}

// reload reads the tokens again.
func (o *operator) reload(asked bool) {
	if o != nil {
		o.tokens.reload(asked)
	}
}

// handle adds the routes.
func (o *operator) handle(mux *http.ServeMux) {
	route := func(pattern string, serve func(w http.ResponseWriter, r *http.Request, who string)) {
		method, path, _ := strings.Cut(pattern, " ")
		authorized := o.authorized(serve)
		mux.HandleFunc(method+" "+operate.Root+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			authorized(w, r)
		})
	}
	route("GET steps", func(w http.ResponseWriter, _ *http.Request, _ string) { writeJSON(w, http.StatusOK, o.steps()) })
	route("GET breakers", func(w http.ResponseWriter, _ *http.Request, _ string) { writeJSON(w, http.StatusOK, o.breakers()) })
	route("GET events", o.events)
	route("GET events/stream", o.stream)
	route("GET steps/{policy}/{step}", o.step)
	route("GET steps/{policy}/{step}/blocked", o.blocked)
	route("POST steps/{policy}/{step}/{action}", o.change)
	route("GET openapi.yaml", func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(operate.OpenAPI)
	})
	// What is not a route is not told to those without a token.
	route("GET ", func(w http.ResponseWriter, r *http.Request, _ string) {
		fail(w, http.StatusNotFound, errors.New("there is no route "+r.URL.Path))
	})
	o.handlePage(mux)
}

// authorized serves requests that have a token, and tells whose it is; others are refused.
func (o *operator) authorized(serve func(w http.ResponseWriter, r *http.Request, who string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if who, ok := o.tokens.who(r); ok {
			serve(w, r, who)
		} else {
			o.refuse(w, r)
		}
	}
}

func (o *operator) refuse(w http.ResponseWriter, r *http.Request) {
	if left, ok := o.refused.due(time.Now()); ok {
		o.log.Warn("a request to the admin address has no valid token", "method", r.Method, "path", r.URL.Path, "peer", r.RemoteAddr, "others", left)
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
	fail(w, http.StatusUnauthorized, errors.New("the request needs the header Authorization: Bearer TOKEN with a valid token"))
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone away needs no answer.
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, operate.Failure{Error: err.Error()})
}

// steps returns the steps of all policies, in the order of the document.
func (o *operator) steps() []operate.Step {
	list := []operate.Step{}
	for _, name := range o.set.Names() {
		p := o.set.Pipeline(name)
		plan := p.Plan()
		if plan == nil {
			continue // a document without the policy is active by now
		}
		states := map[string]sluice.StepState{}
		for _, s := range p.State() {
			states[s.Step] = s
		}
		for i := range plan.Len() {
			list = append(list, o.view(p, plan.Step(i), states))
		}
	}
	return list
}

// view returns a step without its keys.
func (o *operator) view(p *sluice.Pipeline, s pipeline.Step, states map[string]sluice.StepState) operate.Step {
	out := operate.Step{Policy: p.Name(), Step: s.Name, Mechanism: s.Kind().String(), Shadow: s.Shadow, Per: s.Per, Settings: settingsOf(s)}
	state, ok := states[s.Name]
	if !ok {
		return out
	}
	out.Mode, out.Waiting, out.Keys, out.Used, out.Text = state.Mode, state.Waiting, state.Keys, state.Used, state.Text
	if state.Counted {
		out.Free = &state.Free
	}
	if len(s.Per) > 0 {
		blocked, _ := p.Step(s.Name).Blocked()
		out.BlockedKeys = len(blocked)
		return out
	}
	if h, err := p.Step(s.Name).State(); err == nil {
		out.Text, out.Left, out.Next = h.Text, duration(h.Left), duration(h.Next)
	}
	if since := state.Cell.Since; since > 0 {
		at := time.Now().Add(-since).Round(time.Millisecond)
		out.Since = &at
	}
	return out
}

// duration returns a duration as a text, empty for 0.
func duration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.Round(time.Millisecond).String()
}

// settingsOf returns the settings of a step as the document has them, with their defaults.
func settingsOf(s pipeline.Step) json.RawMessage {
	settings, err := json.Marshal(settingsMap(s))
	if err != nil {
		return nil
	}
	return settings
}

func settingsMap(s pipeline.Step) map[string]json.RawMessage {
	var body struct {
		Steps []map[string]map[string]json.RawMessage `json:"steps"`
	}
	bare := pipeline.Step{Config: s.Config}
	if json.Unmarshal(policy.BodyJSON(pipeline.Policy{Steps: []pipeline.Step{bare}}), &body) != nil || len(body.Steps) != 1 {
		return nil
	}
	return body.Steps[0][s.Kind().String()]
}

// breakers returns the breakers that all calls share, and the breakers of keys that are not
// closed: by mode, open ones first, and by the time of the change, the latest first.
func (o *operator) breakers() []operate.Breaker {
	list := []operate.Breaker{}
	for _, s := range o.steps() {
		if s.Mode != "" {
			list = append(list, operate.Breaker{Policy: s.Policy, Step: s.Step, Mode: s.Mode, Since: s.Since, Left: s.Left})
		}
	}
	for name, changed := range o.keys.all() {
		p, err := o.set.Lookup(name.policy)
		if err != nil {
			continue
		}
		// The key may have lost its cell, and time may have changed the mode.
		values := keyed.Split(len(perOf(p, name.step)), name.key)
		step, err := p.Step(name.step).Key(values...).State()
		if err != nil || !step.Own || step.Mode == breaker.Closed {
			o.keys.forget(name, changed)
			continue
		}
		list = append(list, operate.Breaker{Policy: name.policy, Step: name.step, Key: name.key, Mode: step.Mode.String(), Since: &changed, Left: duration(step.Left)})
	}
	slices.SortFunc(list, compareBreakers)
	return list
}

// perOf returns the attributes of the keys of a step.
func perOf(p *sluice.Pipeline, step string) []string {
	if plan := p.Plan(); plan != nil {
		for i := range plan.Len() {
			if plan.StepName(i) == step {
				return plan.Per(i)
			}
		}
	}
	return nil
}

// valuesOf returns the values of a key as requests have them: an operator names an address
// of ip, whose key is its network.
func (o *operator) valuesOf(p *sluice.Pipeline, step string, values []string) []string {
	values = slices.Clone(values)
	for i, attribute := range perOf(p, step) {
		if attribute != keyed.IP || i >= len(values) {
			continue
		}
		if a, ok := keyed.ParseHop(values[i]); ok {
			values[i] = keyed.Key(keyed.IP, a.Text(32, o.ipv6))
		}
	}
	return values
}

// modeOrder has the modes with those that refuse first.
var modeOrder = []string{breaker.ForcedOpen.String(), breaker.Open.String(), breaker.HalfOpen.String(), breaker.ForcedClosed.String(), breaker.MetricsOnly.String(), breaker.Closed.String()}

func compareBreakers(a, b operate.Breaker) int {
	if c := slices.Index(modeOrder, a.Mode) - slices.Index(modeOrder, b.Mode); c != 0 {
		return c
	}
	switch {
	case a.Since != nil && b.Since != nil && !a.Since.Equal(*b.Since):
		return b.Since.Compare(*a.Since)
	case (a.Since == nil) != (b.Since == nil):
		if a.Since != nil {
			return -1
		}
		return 1
	}
	return strings.Compare(a.Policy+"\x00"+a.Step+"\x00"+a.Key, b.Policy+"\x00"+b.Step+"\x00"+b.Key)
}

// target returns the step that a request names.
func (o *operator) target(r *http.Request) (p *sluice.Pipeline, h sluice.Handle, err error) {
	p, err = o.set.Lookup(r.PathValue("policy"))
	if err != nil {
		return nil, h, err
	}
	return p, p.Step(r.PathValue("step")), nil
}

// step answers with a step, or with a key of it.
func (o *operator) step(w http.ResponseWriter, r *http.Request, _ string) {
	p, h, err := o.target(r)
	if err == nil {
		_, err = h.Blocked() // which fails for an unknown step alone
	}
	if err != nil {
		fail(w, statusOf(err), err)
		return
	}
	values := o.valuesOf(p, r.PathValue("step"), r.URL.Query()["key"])
	if len(values) == 0 {
		for _, s := range o.steps() {
			if s.Policy == p.Name() && s.Step == r.PathValue("step") {
				writeJSON(w, http.StatusOK, s)
				return
			}
		}
	}
	s, err := h.Key(values...).State()
	if err != nil {
		fail(w, statusOf(err), err)
		return
	}
	out := operate.Step{
		Policy: p.Name(), Step: s.Step, Mechanism: s.Kind.String(), Key: values, Own: s.Own, Left: duration(s.Left), Next: duration(s.Next),
		Waiting: s.Waiting, Blocked: duration(s.Blocked), Text: s.Text, Settings: settingsOf(pipeline.Step{Config: s.Config}),
	}
	if mechanisms.Row(s.Kind).Traits.Has(mechanism.Modes) {
		out.Mode = s.Mode.String()
	} else {
		out.Free = &s.Free
	}
	writeJSON(w, http.StatusOK, out)
}

func (o *operator) blocked(w http.ResponseWriter, r *http.Request, _ string) {
	_, h, err := o.target(r)
	var keys []sluice.BlockedKey
	if err == nil {
		keys, err = h.Blocked()
	}
	if err != nil {
		fail(w, statusOf(err), err)
		return
	}
	list := []operate.BlockedKey{}
	for _, k := range keys {
		list = append(list, operate.BlockedKey{Key: k.Values, Left: duration(k.Left)})
	}
	writeJSON(w, http.StatusOK, list)
}

// statusOf returns the status of an answer that says why something cannot be done.
func statusOf(err error) int {
	switch {
	case errors.As(err, new(*sluice.UnknownPolicyError)), errors.Is(err, sluice.ErrUnknownStep), errors.Is(err, sluice.ErrUnknownKey):
		return http.StatusNotFound
	case errors.Is(err, sluice.ErrInUse), errors.Is(err, sluice.ErrSharedKey), errors.Is(err, sluice.ErrTooManyBlocks):
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

// change changes a step or a key, and logs it with who and why.
func (o *operator) change(w http.ResponseWriter, r *http.Request, who string) {
	var c operate.Change
	who, err := author(who, r.Header.Get(operate.AuthorHeader))
	if err == nil {
		err = readChange(w, r, &c)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	p, h, err := o.target(r)
	action := r.PathValue("action")
	if err == nil {
		if c.Key != nil {
			h = h.Key(o.valuesOf(p, r.PathValue("step"), c.Key)...)
		}
		err = o.do(h.By(who, c.Reason), action, &c)
	}
	attrs := []any{"action", action, "policy", r.PathValue("policy"), "step", r.PathValue("step"), "by", who, "why", c.Reason, "peer", r.RemoteAddr}
	for name, value := range map[string]string{"key": strings.Join(c.Key, " "), "for": c.For, "mode": c.Mode} {
		if value != "" {
			attrs = append(attrs, name, value)
		}
	}
	if c.Settings != nil {
		// A map of raw texts always has a form in JSON.
		settings, _ := json.Marshal(c.Settings)
		attrs = append(attrs, "settings", string(settings))
	}
	if err != nil {
		o.log.Warn("a change by hand is refused", append(attrs, "error", err)...)
		fail(w, statusOf(err), err)
		return
	}
	o.log.Warn("changed by hand", attrs...)
	w.WriteHeader(http.StatusNoContent)
}

// mostText is how long a reason and the name of an author may be.
const mostText = 500

// author joins the name of the token and the name of the person.
func author(token, person string) (string, error) {
	switch {
	case person == "":
		return token, nil
	case len(person) > mostText || strings.ContainsFunc(person, unprintable):
		return "", fmt.Errorf("%s: allowed: at most %d bytes that can be printed", operate.AuthorHeader, mostText)
	}
	return token + ":" + person, nil
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }

// jsonKinds are the JSON values that a field of a change may have, by its kind in Go.
var jsonKinds = map[reflect.Kind]string{reflect.String: "a text", reflect.Slice: "a list of texts", reflect.Map: "an object", reflect.Struct: "an object"}

func readChange(w http.ResponseWriter, r *http.Request, c *operate.Change) error {
	reader := json.NewDecoder(http.MaxBytesReader(w, r.Body, operate.MostBody))
	reader.DisallowUnknownFields()
	if err := reader.Decode(c); err != nil {
		if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
			return fmt.Errorf("the body: %s: found %s; allowed: %s", cmp.Or(wrong.Field, "all of it"), wrong.Value, jsonKinds[wrong.Type.Kind()])
		}
		return fmt.Errorf("the body: %w", err)
	}
	if _, err := reader.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body: allowed: one object")
	}
	if c.Reason = strings.TrimSpace(c.Reason); c.Reason == "" || len(c.Reason) > mostText || strings.ContainsFunc(c.Reason, unprintable) {
		return fmt.Errorf("reason: allowed: 1 to %d bytes that can be printed, which the log keeps", mostText)
	}
	return nil
}

// do does what an action says.
func (o *operator) do(h sluice.Handle, action string, c *operate.Change) error {
	var d time.Duration
	if c.For != "" {
		var err error
		if d, err = time.ParseDuration(c.For); err != nil || d <= 0 {
			return fmt.Errorf("for: found %q; allowed: a duration of more than 0, as in 30s or 1h", c.For)
		}
	}
	switch action {
	case "open":
		if c.For == "" {
			return h.Transition(breaker.ForcedOpen)
		}
		return h.OpenFor(d)
	case "close":
		return h.Transition(breaker.Closed)
	case sluice.ActionTransition:
		i := slices.IndexFunc(modes, func(m breaker.Mode) bool { return m.String() == c.Mode })
		if i < 0 {
			return fmt.Errorf("mode: found %q; allowed: %s", c.Mode, strings.Join(modeOrder, ", "))
		}
		return h.Transition(modes[i])
	case sluice.ActionReset:
		return h.Reset()
	case sluice.ActionDrain:
		return h.Drain()
	case sluice.ActionConfigure:
		return configure(h, c.Settings)
	case sluice.ActionBlock:
		if c.For == "" {
			return errors.New("for: found nothing; a block needs how long, as in 30s or 1h")
		}
		return h.Block(d)
	case sluice.ActionUnblock:
		return h.Unblock()
	case sluice.ActionForgive:
		return h.Forgive()
	case sluice.ActionForget:
		return h.Forget()
	}
	return fmt.Errorf("there is no action %q; there is %s", action, strings.Join(actions, ", "))
}

var (
	modes = []breaker.Mode{breaker.Closed, breaker.Open, breaker.HalfOpen, breaker.ForcedOpen, breaker.ForcedClosed, breaker.MetricsOnly}

	actions = []string{
		"open", "close", sluice.ActionTransition, sluice.ActionReset, sluice.ActionDrain, sluice.ActionConfigure, sluice.ActionBlock,
		sluice.ActionUnblock, sluice.ActionForgive, sluice.ActionForget,
	}
)

// configure changes some settings of a step; the others stay.
func configure(h sluice.Handle, changed map[string]json.RawMessage) error {
	s, err := h.State()
	if err != nil && !errors.Is(err, sluice.ErrKeyNeeded) {
		return err
	}
	if len(changed) == 0 {
		return errors.New("settings: found nothing; allowed: settings of the step as the policy document has them")
	}
	settings := settingsMap(pipeline.Step{Config: s.Config})
	for name, value := range changed {
		if slices.Contains([]string{"name", "shadow", "per", "keys", "when_full", "missing", "scope", "when", "enforce", "class", "rates"}, name) {
			return fmt.Errorf("settings.%s: only the policy document can change it", name)
		}
		settings[name] = value
	}
	body, err := json.Marshal(map[string]any{"steps": []any{map[string]any{s.Kind.String(): settings}}})
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	p, err := policy.ParseOne("settings", body)
	if err != nil {
		return errors.New(strings.Join(lines(err), "; "))
	}
	return h.Configure(p.Steps[0].Config)
}

// events answers with the last events.
func (o *operator) events(w http.ResponseWriter, r *http.Request, _ string) {
	n := keptEvents
	if text := r.URL.Query().Get("n"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			fail(w, http.StatusBadRequest, fmt.Errorf("n: found %q; allowed: 1 or more", text))
			return
		}
	}
	writeJSON(w, http.StatusOK, o.last(n))
}

// pingEvery is how often a stream without events gets a comment, so that hops between keep
// the connection.
const pingEvery = 15 * time.Second

// stream sends the last events and those to come as server-sent events, until the client
// leaves. With requests=true there are events of requests, too. A reader that comes back
// with the header Last-Event-ID continues there.
func (o *operator) stream(w http.ResponseWriter, r *http.Request, _ string) {
	detailed := r.URL.Query().Get("requests") == "true"
	if o.readers.Add(1) > mostStreams {
		o.readers.Add(-1)
		fail(w, http.StatusServiceUnavailable, fmt.Errorf("there are %d readers already", mostStreams))
		return
	}
	defer o.readers.Add(-1)
	t := o.follow(r.Header.Get("Last-Event-ID"), detailed)
	defer t.stop()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events := make(chan sluice.RecordedEvent)
	go func() {
		for x := range t.stream.Events(ctx) {
			select {
			case events <- x:
			case <-ctx.Done():
			}
		}
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	send := func(x *sluice.RecordedEvent) error {
		text, err := json.Marshal(t.event(x))
		if err != nil {
			return err
		}
		if isNotable(x.Event.Kind) {
			// A reader that comes back names the last event with an identifier.
			_, err = fmt.Fprintf(w, "id: %s\n", o.id(x.Number))
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", text)
		}
		return err
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		if flusher.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ping.C:
			if _, err := io.WriteString(w, ": ping\n\n"); err != nil {
				return
			}
		case x := <-events:
			if send(&x) != nil {
				return
			}
		}
	}
}
