package document

import (
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// methods of HTTP that a document may name (RFC 9110 and RFC 5789).
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}

// DefaultMethods returns what a retry repeats when the document does not say:
// the idempotent methods of RFC 9110 section 9.2.2.
func DefaultMethods() []string {
	return []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"}
}

// methods reads one method or a list of them.
func (p place) methods() []string {
	items := []place{p}
	if p.node.Kind == tree.List {
		if len(p.node.Items) == 0 {
			p.mistyped("one or more of " + orList(methods))
		}
		items = items[:0]
		for i := range p.node.Items {
			items = append(items, p.item(i))
		}
	}
	var list []string
	for _, item := range items {
		i := item.word(methods...)
		switch {
		case i < 0:
		case slices.Contains(list, methods[i]):
			item.fail(quote(methods[i])+" again", "each method once", "")
		default:
			list = append(list, methods[i])
		}
	}
	return list
}

// Failure names an error of the network instead of an answer.
type Failure string

// The failures. A timeout here is the transport's own; a timeout step of the
// policy is reducer.Timeout whatever the outcomes say.
const (
	Connect  Failure = "connect" // no connection could be had
	Reset    Failure = "reset"   // the connection broke before the answer's headers
	NoAnswer Failure = "timeout" // the transport gave up waiting
)

// Outcomes says what an HTTP answer or a network error means. An entry stands in
// one of the classes only.
type Outcomes struct {
	Fail     Class // retried, votes against the dependency
	Throttle Class // retried, no vote: the dependency refused by a limit of its own
	Ignore   Class // neither
}

// Class is a set of answers and errors.
type Class struct {
	// Codes are single statuses, Hundreds the first digits of 5xx and its like.
	Codes    []int
	Hundreds []int
	Failures []Failure
}

// OfStatus returns what an answer of the status means: what the status alone
// says, else what its hundred says, else OK.
func (o *Outcomes) OfStatus(status int) reducer.Outcome {
	if of := o.first(func(c *Class) bool { return slices.Contains(c.Codes, status) }); of != reducer.OK {
		return of
	}
	return o.first(func(c *Class) bool { return slices.Contains(c.Hundreds, status/100) })
}

// OfFailure returns what an error of the network means, OK when nothing names it.
func (o *Outcomes) OfFailure(f Failure) reducer.Outcome {
	return o.first(func(c *Class) bool { return slices.Contains(c.Failures, f) })
}

// first returns the outcome of the class that has what is asked for.
func (o *Outcomes) first(has func(*Class) bool) reducer.Outcome {
	switch {
	case has(&o.Fail):
		return reducer.Fail
	case has(&o.Throttle):
		return reducer.Throttle
	case has(&o.Ignore):
		return reducer.Ignore
	}
	return reducer.OK
}

// defaultOutcomes is {fail: [5xx, connect, reset], throttle: [429], ignore: [4xx]}.
func defaultOutcomes() Outcomes {
	return Outcomes{
		Fail:     Class{Hundreds: []int{5}, Failures: []Failure{Connect, Reset}},
		Throttle: Class{Codes: []int{429}},
		Ignore:   Class{Hundreds: []int{4}},
	}
}

// outcomes reads {fail, throttle, ignore}. A list that is left out is the
// default one, without what the others name.
func (p place) outcomes() Outcomes {
	o := defaultOutcomes()
	f, ok := p.fields("a map of fail, throttle and ignore", "fail", "throttle", "ignore")
	if !ok {
		return o
	}
	named := map[string]string{}
	for _, c := range []struct {
		name  string
		class *Class
	}{{"fail", &o.Fail}, {"throttle", &o.Throttle}, {"ignore", &o.Ignore}} {
		if v, ok := f.get(c.name); ok {
			*c.class = v.class(c.name, named)
		}
	}
	for _, c := range []struct {
		name  string
		class *Class
	}{{"fail", &o.Fail}, {"throttle", &o.Throttle}, {"ignore", &o.Ignore}} {
		if !f.has(c.name) {
			c.class.drop(named)
		}
	}
	return o
}

// drop takes out what another class names.
func (c *Class) drop(named map[string]string) {
	taken := func(entry string) bool { return named[entry] != "" }
	c.Codes = slices.DeleteFunc(c.Codes, func(n int) bool { return taken(strconv.Itoa(n)) })
	c.Hundreds = slices.DeleteFunc(c.Hundreds, func(n int) bool { return taken(strconv.Itoa(n) + "xx") })
	c.Failures = slices.DeleteFunc(c.Failures, func(f Failure) bool { return taken(string(f)) })
}

// classText is what every error about a class allows.
const classText = "a status from 100 to 599, 1xx to 5xx, connect, reset or timeout"

// class reads the list of one class and notes its entries, each of which may
// stand in one class once.
func (p place) class(name string, named map[string]string) Class {
	var c Class
	if p.node.Kind != tree.List {
		p.mistyped("a list of these: " + classText)
		return c
	}
	for i := range p.node.Items {
		item := p.item(i)
		entry := item.node.Text
		if !item.classEntry(&c) {
			continue
		}
		if at := named[entry]; at != "" {
			item.fail(entry+" again", "each in one class once; it stands in "+at, "")
		}
		named[entry] = name
	}
	return c
}

// classEntry reads a status, a hundred of them, or a failure into the class.
func (p place) classEntry(c *Class) bool {
	text := p.node.Text
	switch p.node.Kind {
	case tree.Number:
		n, err := strconv.Atoi(text)
		if err == nil && n >= 100 && n <= 599 && strconv.Itoa(n) == text {
			c.Codes = append(c.Codes, n)
			return true
		}
	case tree.Text:
		if len(text) == 3 && text[0] >= '1' && text[0] <= '5' && text[1:] == "xx" {
			c.Hundreds = append(c.Hundreds, int(text[0]-'0'))
			return true
		}
		if f := Failure(text); f == Connect || f == Reset || f == NoAnswer {
			c.Failures = append(c.Failures, f)
			return true
		}
		near := nearest(text, []string{"connect", "reset", "timeout", "1xx", "2xx", "3xx", "4xx", "5xx"})
		if n, err := strconv.Atoi(text); err == nil && n >= 100 && n <= 599 {
			near = strconv.Itoa(n)
		}
		p.fail(describe(p.node), classText, near)
		return false
	}
	p.mistyped(classText)
	return false
}
