package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/clock"
	"github.com/sluice-go/sluice/core/keyed"
	"github.com/sluice-go/sluice/trace"
)

// request is a line of an access log.
type request struct {
	at      time.Time
	coarse  bool // the time is a whole second
	atEnd   bool // the time is usually the time of the end
	took    time.Duration
	status  int
	method  string
	uri     string
	host    string
	ip      string
	user    string
	agent   string
	referer string
	policy  string
	route   string
	reason  string // of a refusal by a policy
	request string // the id of the request
	id      string
	seq     int
}

// maxAccessLine is the longest line of an access log.
const maxAccessLine = 1 << 20

// accesses reads an access log.
func (l *loader) accesses(src io.Reader) error {
	lines := bufio.NewScanner(src)
	lines.Buffer(make([]byte, 0, 1<<16), maxAccessLine)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if text == "" {
			continue
		}
		parse := parseJSON
		switch l.Format {
		case Common:
			parse = parseCommon
		case Combined:
			parse = parseCombined
		}
		q, err := parse(text)
		if err != nil {
			if err := l.bad(n, &trace.LineError{Line: n, Err: err}); err != nil {
				return err
			}
			continue
		}
		l.seq++
		q.id, q.seq = strconv.Itoa(n), l.seq
		if l.several {
			q.id = strconv.Quote(l.file + ":" + q.id)
		}
		if l.options.End || q.atEnd && !l.options.Start {
			q.at = q.at.Add(-q.took)
		}
		l.requests = append(l.requests, q)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", l.file, err)
	}
	return nil
}

// order makes calls of the requests, in the order in which they began.
func (l *loader) order() {
	if len(l.requests) == 0 {
		return
	}
	if !l.options.Together {
		spread(l.requests)
	}
	slices.SortStableFunc(l.requests, func(a, b request) int { return a.at.Compare(b.at) })
	first := l.requests[0].at
	l.Began = first
	for i := range l.requests {
		q := &l.requests[i]
		c := q.call(clock.Mark(q.at.Sub(first)))
		c.seq = q.seq
		l.script = append(l.script, item{at: c.Event.At, seq: c.seq, event: &c.Event, call: len(l.Calls), policy: c.Policy})
		l.Calls = append(l.Calls, c)
		l.end = max(l.end, c.Event.At.Add(q.took))
	}
	for i := range l.script {
		l.script[i].event = &l.Calls[i].Event
	}
	l.requests = nil
}

// spread spreads the requests of a log whose times are whole seconds over these seconds.
func spread(list []request) {
	counts, placed := map[int64]int{}, map[int64]int{}
	for i := range list {
		if list[i].coarse {
			counts[list[i].at.Unix()]++
		}
	}
	for i := range list {
		if q := &list[i]; q.coarse {
			second := q.at.Unix()
			q.at = q.at.Add(time.Second * time.Duration(placed[second]) / time.Duration(counts[second]))
			placed[second]++
		}
	}
}

// requestID is the attribute that has the id of a request.
const requestID = "header:x-request-id"

// clientOf returns an address of a log as a value of ip: of IPv6 the network of 64 bits is
// the key, as it is by default where the policy runs.
func clientOf(address string) string {
	if a, ok := keyed.ParseHop(address); ok {
		return a.Text(32, 64)
	}
	return address
}

// call makes a call of a request.
func (q *request) call(at clock.Mark) Call {
	attributes := map[string]string{}
	add := func(name, value string) {
		if value != "" && value != "-" {
			attributes[name] = value
		}
	}
	path, query, _ := strings.Cut(q.uri, "?")
	add("ip", clientOf(q.ip))
	add("host", q.host)
	add("method", q.method)
	add("path", path)
	add("route", q.route)
	add("header:user-agent", q.agent)
	add("header:referer", q.referer)
	add(requestID, q.request)
	if values, err := url.ParseQuery(query); err == nil {
		for name := range values {
			add("query:"+name, values.Get(name))
		}
	}
	key := q.user
	if key == "-" {
		key = ""
	}
	c := Call{
		ID: q.id, Policy: q.policy,
		Event:    trace.Event{At: at, Op: "call", ID: q.id, Key: key, Cost: 1, Attributes: attributes, Deadline: -1},
		Was:      Verdict{Known: true, At: time.Duration(at), RetryAfter: -1, Outcome: strconv.Itoa(q.status)},
		attempts: []attempt{{known: true, took: q.took, status: q.status, seq: q.seq}},
	}
	if c.Route = strings.TrimSpace(q.method + " " + path); q.route != "" {
		c.Route = q.route
	}
	if q.reason != "" && (q.status == http.StatusTooManyRequests || q.status == http.StatusServiceUnavailable) {
		c.Was.Refused, c.Was.Reason, c.Was.Outcome = true, q.reason, ""
		c.attempts = nil
	}
	return c
}

// commonTime is the time of the common log format.
const commonTime = "02/Jan/2006:15:04:05 -0700"

// The forms of the two text formats, for errors.
const (
	commonForm   = `HOST IDENT USER [02/Jan/2006:15:04:05 -0700] "METHOD PATH PROTOCOL" STATUS BYTES`
	combinedForm = commonForm + ` "REFERER" "USER AGENT"`
)

// parseCommon reads a line of the common log format of Apache and nginx. A number behind
// it is the duration: seconds with a decimal point, else microseconds.
func parseCommon(text string) (request, error) { return parseText(text, false) }

// parseCombined reads a line of the combined format.
func parseCombined(text string) (request, error) { return parseText(text, true) }

func parseText(text string, combined bool) (q request, err error) {
	form := commonForm
	if combined {
		form = combinedForm
	}
	wrong := func(what string) (request, error) { return q, fmt.Errorf("no %s; allowed: %s", what, form) }
	fields, err := words(text)
	switch {
	case err != nil:
		return wrong("line of the log: " + err.Error())
	case len(fields) < 7 || combined && len(fields) < 9:
		return wrong("line of the log")
	}
	q.ip, q.user = fields[0], fields[2]
	if net.ParseIP(q.ip) == nil {
		q.host, q.ip = "", ""
		// Apache may look up the names of clients.
		q.ip = fields[0]
	}
	if q.at, err = time.Parse(commonTime, fields[3]); err != nil {
		return wrong("time")
	}
	q.coarse = true
	line := strings.Fields(fields[4])
	if len(line) < 2 {
		return wrong("request")
	}
	q.method, q.uri = line[0], line[1]
	if q.status, err = strconv.Atoi(fields[5]); err != nil || q.status < 100 || q.status > 999 {
		return wrong("status")
	}
	rest := fields[7:]
	if combined {
		q.referer, q.agent, rest = fields[7], fields[8], fields[9:]
	}
	for _, word := range rest {
		if number, err := strconv.ParseFloat(word, 64); err == nil && number >= 0 {
			if strings.Contains(word, ".") {
				q.took, q.atEnd = seconds(number), true
			} else {
				q.took = seconds(number / 1e6)
			}
			break
		}
	}
	return q, nil
}

// seconds makes a duration of a number of them. Greater ones than a day are none.
func seconds(s float64) time.Duration {
	if !(s >= 0 && s < 86_400) {
		return 0
	}
	return time.Duration(math.Round(s * float64(time.Second)))
}

var errQuote = errors.New("a quote or a bracket is not closed")

// words splits a line at spaces, outside of quotes and brackets. Within quotes a backslash
// escapes the next byte.
func words(text string) (list []string, err error) {
	for {
		text = strings.TrimLeft(text, " \t")
		if text == "" {
			return list, nil
		}
		switch text[0] {
		case '"':
			var b strings.Builder
			i := 1
			for ; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' && i+1 < len(text) {
					i++
				}
				b.WriteByte(text[i])
			}
			if i >= len(text) {
				return nil, errQuote
			}
			list, text = append(list, b.String()), text[i+1:]
		case '[':
			inner, rest, ok := strings.Cut(text[1:], "]")
			if !ok {
				return nil, errQuote
			}
			list, text = append(list, inner), rest
		default:
			word, rest, _ := strings.Cut(text, " ")
			list, text = append(list, word), rest
		}
	}
}

// The names that servers give to the fields of a log in JSON. A name with a dot is the name of
// a field in an object.
var (
	timeNames     = []string{"time", "ts", "timestamp", "@timestamp", "time_iso8601", "start_time", "time_local", "msec"}
	methodNames   = []string{"method", "request_method", "request.method", "verb", "http_method"}
	uriNames      = []string{"uri", "request_uri", "request.uri", "path", "url"}
	statusNames   = []string{"status", "status_code", "response_code", "response.status"}
	secondsNames  = []string{"seconds", "request_time", "duration", "duration_seconds", "elapsed", "latency", "response_time"}
	millisNames   = []string{"duration_ms", "latency_ms", "elapsed_ms", "response_time_ms"}
	ipNames       = []string{"ip", "remote_addr", "client_ip", "remote_ip", "request.client_ip", "request.remote_ip", "downstream_remote_address", "peer"}
	hostNames     = []string{"host", "http_host", "request.host", "authority", "server_name"}
	userNames     = []string{"key", "client", "remote_user", "user", "user_id"}
	agentNames    = []string{"user_agent", "http_user_agent", "request.headers.User-Agent"}
	refererNames  = []string{"referer", "http_referer", "request.headers.Referer"}
	idNames       = []string{"request_id", "x_request_id", "request.headers.X-Request-Id"}
	requestFields = []string{"request"}
)

// parseJSON reads a line of an access log in JSON.
func parseJSON(text string) (q request, err error) {
	var all map[string]any
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		return q, fmt.Errorf("no object of JSON: %w", err)
	}
	q.method, q.uri = textOf(all, methodNames), textOf(all, uriNames)
	if line := strings.Fields(textOf(all, requestFields)); len(line) >= 2 && q.method == "" {
		q.method, q.uri = line[0], line[1]
	}
	if query := textOf(all, []string{"query", "query_string", "args"}); query != "" && query != "-" && !strings.Contains(q.uri, "?") {
		q.uri += "?" + query
	}
	if address, err := url.Parse(q.uri); err == nil && address.Host != "" {
		q.uri, q.host = address.RequestURI(), address.Host
	}
	if host := textOf(all, hostNames); host != "" {
		q.host = host
	}
	q.ip = bare(textOf(all, ipNames))
	q.user, q.agent, q.referer = textOf(all, userNames), textOf(all, agentNames), textOf(all, refererNames)
	q.policy, q.route, q.reason = textOf(all, []string{"policy"}), textOf(all, []string{"route"}), textOf(all, []string{"reason"})
	q.request = textOf(all, idNames)
	if q.status, err = strconv.Atoi(textOf(all, statusNames)); err != nil || q.status < 100 || q.status > 999 {
		return q, fmt.Errorf("no status; allowed: one of %s", strings.Join(statusNames, ", "))
	}
	if q.at, q.coarse, err = timeOf(textOf(all, timeNames)); err != nil {
		return q, fmt.Errorf("no time; allowed: one of %s, in RFC 3339, in the common log format, or in seconds since 1970", strings.Join(timeNames, ", "))
	}
	took, millis := textOf(all, secondsNames), textOf(all, millisNames)
	switch number, wrong := strconv.ParseFloat(took, 64); {
	case wrong == nil:
		q.took = seconds(number)
	case took != "":
		// A duration such as 1.5s; what is none counts as no time.
		q.took, _ = time.ParseDuration(took)
	case millis != "":
		number, _ := strconv.ParseFloat(millis, 64)
		q.took = seconds(number / 1e3)
	}
	q.took = max(0, q.took)
	// sluice serve writes the time of the beginning, and most others the time of the end.
	_, own := all["seconds"]
	q.atEnd = !own && textOf(all, []string{"start_time"}) == ""
	return q, nil
}

// textOf returns the first field of some names that an object has, as text.
func textOf(all map[string]any, names []string) string {
	for _, name := range names {
		if text := scalar(lookup(all, name)); text != "" {
			return text
		}
	}
	return ""
}

func lookup(all map[string]any, name string) any {
	if value, ok := all[name]; ok {
		return value
	}
	head, rest, ok := strings.Cut(name, ".")
	if inner, is := all[head].(map[string]any); ok && is {
		return lookup(inner, rest)
	}
	return nil
}

func scalar(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		if len(v) > 0 {
			return scalar(v[0])
		}
	}
	return ""
}

var errNumber = errors.New("no number of seconds")

// timeOf reads a time. coarse is true for whole seconds.
func timeOf(text string) (at time.Time, coarse bool, err error) {
	whole, part, decimals := strings.Cut(text, ".")
	if number, err := strconv.ParseInt(whole, 10, 64); err == nil {
		unit := time.Second
		for n := number; n > 1e11; n /= 1e3 {
			unit /= 1e3 // milliseconds, microseconds or nanoseconds
		}
		nanos, err := strconv.ParseInt((part + "000000000")[:9], 10, 64)
		if err != nil || unit == 0 {
			return at, false, errNumber
		}
		perSecond := int64(time.Second / unit)
		at = time.Unix(number/perSecond, number%perSecond*int64(unit)+nanos/perSecond)
		return at, unit == time.Second && !decimals, nil
	}
	for _, form := range []string{time.RFC3339Nano, commonTime} {
		if at, err = time.Parse(form, text); err == nil {
			return at, form == commonTime || !strings.Contains(text, "."), nil
		}
	}
	return at, false, err
}

// bare returns an address without a port.
func bare(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
