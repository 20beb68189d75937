package scenario

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/policy/document"
	"github.com/sluice-go/sluice/policy/tree"
	"github.com/sluice-go/sluice/reducer"
)

// forever is a duration without end.
const forever = time.Duration(math.MaxInt64)

// Open reads the policies of the file that a scenario names in policy_file. The error
// is one of the policy document, or says why there is none.
type Open func(file string) ([]document.Policy, error)

// ParseJSON reads a scenario in JSON. The file names it in errors. Open reads its
// policy_file and may be nil, for scenarios without one. The error is a
// document.Errors with everything that is wrong.
func ParseJSON(file string, src []byte, open Open) (*Scenario, error) {
	root, err := tree.ReadJSON(src)
	if err != nil {
		return nil, document.Unreadable(file, err)
	}
	return Read(file, root, nil, open)
}

// Read interprets the tree of a scenario. It returns the errors of the reader of the
// source together with its own.
func Read(file string, root *tree.Node, before document.Errors, open Open) (*Scenario, error) {
	r := &reader{Reader: document.NewReader(file, before), open: open}
	s := &Scenario{}
	r.scenario(root, s)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

type reader struct {
	*document.Reader
	open               Open
	scenarioPolicies   []document.Policy
	policies, services string // their names
}

func (r *reader) scenario(root *tree.Node, s *Scenario) {
	f := r.Fields(root, "a scenario: a map of version, duration, clients and services",
		"version seed duration warmup policies policy_file clients services description $schema")
	if f == nil {
		return
	}
	if n := f.Need("version", "the version of the format, 1"); n != nil && (n.Kind != tree.Number || n.Text != "1") {
		r.Fail(n, "the number 1, the version of the format")
	}
	if n := f.Get("$schema"); n != nil {
		r.Text(n, "the address of the JSON Schema, for editors")
	}
	if n := f.Get("description"); n != nil && r.Text(n, "a text") {
		s.Description = n.Text
	}
	s.Seed = 1
	if n := f.Get("seed"); n != nil {
		s.Seed, _ = r.Whole(n)
	}
	if n := f.Need("duration", "how long the scenario lasts, a duration as in 10m"); n != nil {
		if d, ok := r.Duration(n, 1); ok {
			if s.Duration = d; d > MaxDuration {
				r.Fail(n, "a duration of at most 366d")
			}
		}
	}
	if n := f.Get("warmup"); n != nil {
		if d, ok := r.Duration(n, 0); ok {
			if s.Warmup = d; s.Duration > 0 && d >= s.Duration {
				r.Fail(n, "less than the duration")
			}
		}
	}
	r.readPolicies(f, s)
	services := f.Need("services", "a list of services, one or more")
	r.services = r.names(services)
	if n := f.Need("clients", "a list of clients, one or more"); n != nil {
		r.clients(n, s)
	}
	if services != nil {
		r.readServices(services, s)
	}
}

// readPolicies reads the policies of a scenario and the policies of its file.
func (r *reader) readPolicies(f *document.Fields, s *Scenario) {
	if n := f.Get("policies"); n != nil {
		s.Policies = r.Policies(n)
	}
	if n := f.Get("policy_file"); n != nil && r.Text(n, "the name of a policy document") {
		s.PolicyFile = n.Text
		r.readFile(n, s)
	}
	var names []string
	for i := range s.Policies {
		names = append(names, s.Policies[i].Name)
	}
	r.policies, r.scenarioPolicies = strings.Join(names, " "), s.Policies
}

func (r *reader) readFile(n *tree.Node, s *Scenario) {
	if r.open == nil {
		r.Fail(n, "a scenario that has its policies itself: files cannot be read here")
		return
	}
	more, err := r.open(n.Text)
	if err != nil {
		r.Fail(n, "a policy document that can be read: "+strings.ReplaceAll(err.Error(), "$", ""))
		return
	}
	for i := range more {
		if lookup(s.Policies, more[i].Name) != nil {
			r.Fail(n, "a document without the policy "+more[i].Name+", which the scenario has itself")
			return
		}
	}
	s.Policies = append(s.Policies, more...)
}

func lookup(list []document.Policy, name string) *document.Policy {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// names returns the names of the items of a list, separated by spaces. Those that
// are invalid are empty: their errors come when they are read.
func (r *reader) names(list *tree.Node) string {
	if list == nil || list.Kind != tree.List {
		return ""
	}
	names := make([]string, len(list.Items))
	for i, item := range list.Items {
		for _, e := range item.Items {
			if e.Key == "name" && e.Kind == tree.Text && !strings.Contains(e.Text, " ") {
				names[i] = e.Text
			}
		}
	}
	return strings.Join(names, " ")
}

// list reads a list of at least one item and at most so many, and returns the items.
func (r *reader) list(n *tree.Node, most int, what string) []*tree.Node {
	if n.Kind != tree.List || len(n.Items) == 0 {
		r.Fail(n, "a list of "+what+", one or more")
		return nil
	}
	if len(n.Items) > most {
		r.Fail(n, "at most "+strconv.Itoa(most)+" "+what)
		return nil
	}
	return n.Items
}

// name reads the name of an item, which no other one has.
func (r *reader) name(f *document.Fields, seen map[string]bool) string {
	n := f.Need("name", "a name of lower-case letters, digits and hyphens")
	if n == nil {
		return ""
	}
	name, ok := r.Name(n)
	if ok && seen[name] {
		r.Fail(n, "a name that no other one has")
	}
	seen[name] = true
	return name
}

// service reads the name of a service and returns its index.
func (r *reader) service(n *tree.Node) int {
	for i, name := range strings.Split(r.services, " ") {
		if n.Kind == tree.Text && n.Text == name && name != "" {
			return i
		}
	}
	r.Unknown(n, "the name of a service of this scenario", r.services)
	return 0
}

// policy reads the name of a policy, or none.
func (r *reader) policy(n *tree.Node) *document.Policy {
	if n == nil || n.Kind == tree.Text && n.Text == "none" {
		return nil
	}
	one := lookup(r.scenarioPolicies, n.Text)
	if one == nil || n.Kind != tree.Text {
		r.Unknown(n, "none, or the name of a policy of this scenario", r.policies)
	}
	return one
}

// number reads a plain number, from least to most.
func (r *reader) number(n *tree.Node, least, most float64, allowed string) float64 {
	x, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != tree.Number || err != nil || !(x >= least && x <= most) {
		r.Fail(n, allowed)
		return most
	}
	return x
}

// duration reads the entry of a name, if it is there, or returns the default.
func (r *reader) duration(f *document.Fields, name string, least, standard time.Duration) time.Duration {
	if n := f.Get(name); n != nil {
		if d, ok := r.Duration(n, least); ok {
			return d
		}
	}
	return standard
}

// share reads the entry of a name, if it is there.
func (r *reader) share(f *document.Fields, name string) (s reducer.Share) {
	if n := f.Get(name); n != nil {
		s, _ = r.Share(n)
	}
	return s
}

// flag reads the entry of a name, if it is there.
func (r *reader) flag(f *document.Fields, name string) bool {
	n := f.Get(name)
	return n != nil && r.Bool(n)
}
