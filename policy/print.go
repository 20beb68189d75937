package policy

import (
	"encoding/json"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/pipeline"
)

// object is a JSON object; its fields are printed in the order of the alphabet.
type object = map[string]any

// BodyJSON returns the body of a policy, as ParseOne reads it, in JSON on one line. Every
// setting that has a default is written out. It has the steps and the fallback; what a
// document says beside them, as the outcomes of answers, is not a part of the policy.
func BodyJSON(p pipeline.Policy) []byte {
	text, err := json.Marshal(policyObject(p))
	if err != nil {
		// The body has texts, numbers, lists and objects alone.
		panic("policy: " + err.Error())
	}
	return text
}

func policyObject(p pipeline.Policy) object {
	o := object{"pass": true}
	if !p.Pass {
		steps, mechanisms := []object{}, object{}
		for _, s := range p.Steps {
			step := object{s.Kind().String(): stepObject(s)}
			if s.Mechanism != "" {
				shared := s
				shared.Name, shared.Shadow = "", false
				// A use in shadow does not say for which share the mechanism enforces.
				if mechanisms[s.Mechanism] == nil || !s.Shadow {
					mechanisms[s.Mechanism] = object{s.Kind().String(): stepObject(shared)}
				}
				step = object{"use": useObject(s)}
			}
			steps = append(steps, step)
		}
		o = object{"steps": steps}
		if len(mechanisms) > 0 {
			o["mechanisms"] = mechanisms
		}
	}
	if len(p.Allow) > 0 {
		o["allow"] = conditionValue(p.Allow)
	}
	if len(p.Deny) > 0 {
		o["deny"] = conditionValue(p.Deny)
	}
	if p.Fallback != nil {
		o["fallback"] = object{"status": p.Fallback.Status, "body": p.Fallback.Body}
	}
	return o
}

// useObject prints a step that shares a mechanism.
func useObject(s pipeline.Step) object {
	o := object{"mechanism": s.Mechanism}
	if s.Name != "" {
		o["name"] = s.Name
	}
	if s.Shadow {
		o["shadow"] = true
	}
	return o
}

func stepObject(s pipeline.Step) object {
	o := configObject(s.Config)
	if s.Name != "" {
		o["name"] = s.Name
	}
	if s.Shadow {
		o["shadow"] = true
	}
	if len(s.When) > 0 {
		o["when"] = conditionValue(s.When)
	}
	if s.Enforce.Of.Positive() {
		o["enforce"] = shareText(s.Enforce.Of)
		if s.Enforce.By != "" {
			o["enforce"] = object{"share": shareText(s.Enforce.Of), "by": s.Enforce.By}
		}
	}
	if len(s.Per) == 0 {
		return o
	}
	o["per"] = s.Per
	if len(s.Per) == 1 {
		o["per"] = s.Per[0]
	}
	if s.Keys > 0 {
		o["keys"] = s.Keys
	}
	o["when_full"] = [...]string{"evict", "share"}[s.WhenFull]
	o["missing"] = s.Missing.String()
	return o
}

// conditionValue prints a condition: a map, or a list of them.
func conditionValue(c condition.Condition) any {
	cases := make([]object, len(c))
	for i := range c {
		cases[i] = entriesObject(c[i].All)
		if len(c[i].None) > 0 {
			cases[i]["not"] = entriesObject(c[i].None)
		}
	}
	if len(cases) == 1 {
		return cases[0]
	}
	return cases
}

func entriesObject(entries []condition.Entry) object {
	o := object{}
	for _, e := range entries {
		o[e.Attribute] = e.Values
		if len(e.Values) == 1 {
			o[e.Attribute] = e.Values[0]
		}
	}
	return o
}
