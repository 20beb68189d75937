package generate

import (
	"encoding/json"
	"time"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/oracle"
	"github.com/sluice-go/sluice/policy"
)

// object is a JSON object; its fields are printed in the order of the alphabet.
type object = map[string]any

// PolicyJSON prints the policy as a document with the one policy p. Every
// setting that has a default is written out.
func PolicyJSON(p pipeline.Policy) []byte {
	p.Name = "p"
	return SetJSON([]pipeline.Policy{p})
}

// SetJSON is PolicyJSON for several policies, which share mechanisms.
func SetJSON(policies []pipeline.Policy) []byte {
	bodies, mechanisms := object{}, object{}
	for _, p := range policies {
		var body object
		if err := json.Unmarshal(policy.BodyJSON(p), &body); err != nil {
			panic("generate: " + err.Error())
		}
		if own, ok := body["mechanisms"].(object); ok {
			for name, m := range own {
				mechanisms[name] = m
			}
			delete(body, "mechanisms")
		}
		bodies[p.Name] = body
	}
	doc := object{"version": 1, "policies": bodies}
	if len(mechanisms) > 0 {
		doc["mechanisms"] = mechanisms
	}
	return print(doc)
}

// EventsJSON prints the log as NDJSON.
func EventsJSON(events []oracle.Event) []byte {
	var all []byte
	for _, e := range events {
		all = append(append(all, print(eventObject(e))...), '\n')
	}
	return all
}

func print(o object) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic("generate: " + err.Error())
	}
	return text
}

func eventObject(e oracle.Event) object {
	o := object{"at": span(time.Duration(e.At)), "op": e.Op}
	if e.ID != "" {
		o["id"] = json.RawMessage(e.ID)
	}
	if e.Op == "call" && e.Cost != 1 {
		o["cost"] = e.Cost
	}
	if e.Key != "" {
		o["key"] = e.Key
	}
	if e.Attributes != nil {
		o["attributes"] = e.Attributes
	}
	if e.Deadline != nil {
		o["deadline"] = span(time.Duration(*e.Deadline))
	}
	if e.Attempt != 0 {
		o["attempt"] = e.Attempt
	}
	if e.Outcome != "" {
		o["outcome"] = e.Outcome
	}
	if e.Used != nil {
		o["used"] = *e.Used
	}
	if e.RetryAfter != nil {
		o["retry_after"] = span(time.Duration(*e.RetryAfter))
	}
	if e.Policy != nil {
		o["policy"] = json.RawMessage(policy.BodyJSON(*e.Policy))
	}
	return o
}

func span(d time.Duration) string { return d.String() }
