// Package planbytes codes a compiled policy as bytes: what a runtime needs to decide,
// without the document, its format and its texts. The page wasm/PLAN.md describes the
// bytes for readers of documents in other languages.
//
// A plan has one form in bytes: with the names of all steps and every value, defaults
// included.
package planbytes

import (
	"strconv"

	"github.com/sluice-go/sluice/core/condition"
	"github.com/sluice-go/sluice/core/fallback"
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planwire"
	"github.com/sluice-go/sluice/reducer"
)

// Version is the first byte.
const Version = 1

// HasFallback is the bit of the flags of a plan that says that the policy has a
// fallback. What it answers is not part of the plan.
const HasFallback = 1

// HasAllow and HasDeny are the bits of the flags of a plan that say that its conditions on
// calls follow.
const (
	HasAllow = 2
	HasDeny  = 4
)

// The bits of the flags of a step.
const (
	StepShadow = 1
	// StepShare: new keys share a cell where the step has its greatest number of
	// keys.
	StepShare = 2
	// StepDeny and StepSkip: what a call without a key gets. At most one of them.
	StepDeny = 4
	StepSkip = 8
	// StepMechanism: the name of a shared mechanism is behind the keys.
	StepMechanism = 16
	// StepWhen and StepEnforce: the condition of the step, and its share, follow.
	StepWhen    = 32
	StepEnforce = 64
)

// Error says which value of plan bytes is wrong.
type Error struct {
	// Step is the index of the step, -1 for what stands before the steps.
	Step int
	// Field is the name of the setting as in the policy document; or version, flags,
	// steps, kind, name, per, mechanism, or end for bytes left over.
	Field string
	// Err is why the plan does not compile; its text begins with Field. Nil for bytes
	// that are no plan.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	text := "plan bytes: "
	if e.Step >= 0 {
		text += "steps[" + strconv.Itoa(e.Step) + "]."
	}
	if e.Err != nil {
		return text + e.Err.Error()
	}
	return text + e.Field + ": cut off, or a number that is not allowed"
}

// Unwrap returns why the plan does not compile.
func (e *Error) Unwrap() error { return e.Err }

// Append appends the bytes of a plan.
func Append(dst []byte, p *pipeline.Plan) []byte {
	v := planwire.Writer(dst)
	version, flags, count := uint8(Version), uint8(0), uint8(p.Len())
	if p.Fallback() != nil {
		flags = HasFallback
	}
	policy := p.Conditions()
	if len(policy.Allow) > 0 {
		flags |= HasAllow
	}
	if len(policy.Deny) > 0 {
		flags |= HasDeny
	}
	v.U8(&version)
	v.U8(&flags)
	v.U8(&count)
	lists(&v, flags, &policy)
	for i := range p.Len() {
		s := p.Step(i)
		if s.Keys = p.Keys(i).Keys; len(s.Per) == 0 {
			s.Keys = 0
		}
		step(&v, &s)
		mechanisms.Write(s.Config, &v)
	}
	return v.Bytes()
}

// Decode reads a policy from plan bytes. Its name is empty, and so is its fallback.
// The error is an Error. The policy is not yet known to compile.
func Decode(src []byte) (p pipeline.Policy, err error) {
	at := -1
	v := planwire.Reader(src)
	var version, flags, count uint8
	if v.Word("version", &version); version != Version {
		v.Refuse("version")
	}
	if v.Word("flags", &flags); flags > HasFallback|HasAllow|HasDeny {
		v.Refuse("flags")
	}
	if flags&HasFallback != 0 {
		p.Fallback = &fallback.Config{}
	}
	if v.Word("steps", &count); count > pipeline.MaxSteps {
		v.Refuse("steps")
	}
	lists(&v, flags, &p)
	if p.Pass = count == 0; !p.Pass && !v.Failed() {
		p.Steps = make([]pipeline.Step, count)
	}
	for i := range p.Steps {
		at = i
		s := &p.Steps[i]
		kind := step(&v, s)
		if s.Config = mechanisms.Read(kind, &v); s.Config == nil {
			v.Refuse("kind")
		}
		if v.Failed() {
			break
		}
	}
	if !v.Close() {
		return pipeline.Policy{}, &Error{Step: at, Field: v.Field()}
	}
	return p, nil
}

// lists codes the conditions of a policy on calls that its flags say it has.
func lists(v *planwire.Coder, flags uint8, p *pipeline.Policy) {
	if flags&HasAllow != 0 {
		conditions(v, "allow", &p.Allow)
	}
	if flags&HasDeny != 0 {
		conditions(v, "deny", &p.Deny)
	}
}

// conditions codes a condition.
func conditions(v *planwire.Coder, name string, c *condition.Condition) {
	*c = sized(v, name, *c, condition.MaxCases, 1)
	for i := range *c {
		one := &(*c)[i]
		entries(v, name, &one.All)
		entries(v, name, &one.None)
	}
}

func entries(v *planwire.Coder, name string, list *[]condition.Entry) {
	*list = sized(v, name, *list, condition.MaxEntries, 0)
	for i := range *list {
		e := &(*list)[i]
		v.Text(name, &e.Attribute)
		e.Values = sized(v, name, e.Values, condition.MaxValues, 1)
		for j := range e.Values {
			v.Text(name, &e.Values[j])
		}
	}
}

// sized codes how many a list has, of which each takes a byte or more, and makes the list
// of a reader.
func sized[T any](v *planwire.Coder, name string, list []T, most, least uint32) []T {
	n := uint32(len(list))
	if v.Count(name, &n); !v.Reads() {
		return list
	}
	if n < least || n > most || int64(n) > int64(v.Left()) {
		v.Refuse(name)
	}
	if v.Failed() || n == 0 {
		return nil
	}
	return make([]T, n)
}

// step codes a step up to the settings of its mechanism, which it returns.
func step(v *planwire.Coder, s *pipeline.Step) mechanism.Kind {
	kind, flags, attributes := uint8(s.Kind()), stepFlags(s), uint32(len(s.Per))
	v.Word("kind", &kind)
	if v.Word("flags", &flags); flags > StepShadow|StepShare|StepDeny|StepSkip|StepMechanism|StepWhen|StepEnforce || flags&StepDeny != 0 && flags&StepSkip != 0 {
		v.Refuse("flags")
	}
	v.Text("name", &s.Name)
	v.Count("per", &attributes)
	if v.Reads() {
		setFlags(s, flags)
		// Each attribute has a byte or more.
		if int64(attributes) > int64(v.Left()) {
			v.Refuse("per")
		} else if attributes > 0 {
			s.Per = make([]string, attributes)
		}
	}
	for i := range s.Per {
		v.Text("per", &s.Per[i])
	}
	v.Count("keys", &s.Keys)
	if flags&StepMechanism != 0 {
		v.Text("mechanism", &s.Mechanism)
	}
	if flags&StepWhen != 0 {
		conditions(v, "when", &s.When)
	}
	if flags&StepEnforce != 0 {
		v.Share("enforce", &s.Enforce.Of)
		v.Text("enforce", &s.Enforce.By)
		if v.Reads() && !s.Enforce.Of.Positive() {
			v.Refuse("enforce")
		}
	}
	return mechanism.Kind(kind)
}

func stepFlags(s *pipeline.Step) (flags uint8) {
	if s.Shadow {
		flags |= StepShadow
	}
	if s.WhenFull == pipeline.FullShare {
		flags |= StepShare
	}
	switch {
	case s.Missing.Denies():
		flags |= StepDeny
	case s.Missing == pipeline.MissingSkip:
		flags |= StepSkip
	}
	if s.Mechanism != "" {
		flags |= StepMechanism
	}
	if len(s.When) > 0 {
		flags |= StepWhen
	}
	if s.Enforce.Of.Positive() {
		flags |= StepEnforce
	}
	return flags
}

func setFlags(s *pipeline.Step, flags uint8) {
	s.Shadow = flags&StepShadow != 0
	if flags&StepShare != 0 {
		s.WhenFull = pipeline.FullShare
	}
	switch {
	case flags&StepDeny != 0:
		s.Missing = pipeline.MissingDeny
	case flags&StepSkip != 0:
		s.Missing = pipeline.MissingSkip
	}
}

// Compile compiles a plan from its bytes. The error is an Error.
func Compile(src []byte) (*pipeline.Plan, error) {
	policy, err := Decode(src)
	if err != nil {
		return nil, err
	}
	plan, err := pipeline.Compile(policy)
	if err != nil {
		return nil, located(err)
	}
	return plan, nil
}

// located returns the first of the errors of a policy with its place.
func located(err error) *Error {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		err = several.Unwrap()[0]
	}
	e := &Error{Step: -1, Field: "steps", Err: err}
	if in, ok := err.(*pipeline.StepError); ok {
		e.Step, e.Field, e.Err = in.Index, "name", in.Err
	}
	if wrong, ok := e.Err.(*reducer.ConfigError); ok {
		e.Field = wrong.Field
	}
	return e
}
