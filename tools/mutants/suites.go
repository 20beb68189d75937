package main

import (
	"slices"
	"strings"
)

// suite is a go test command that may catch a mutant.
type suite struct {
	name string
	args []string
	env  []string
	// packages returns where it runs for a mutated package.
	packages func(u *unit, w *world) []string
}

func in(packages ...string) func(*unit, *world) []string {
	return func(*unit, *world) []string { return packages }
}

// suites are in the order of what they cost. What has a mutant of its own in
// proptest is not wanted here: only the machines as they are.
var suites = []suite{
	{name: "own", packages: func(u *unit, w *world) []string {
		if w.tested[u.path] {
			return []string{u.dir}
		}
		return nil
	}},
	{name: "core", packages: func(u *unit, w *world) []string { return w.dependents[u.path] }},
	{name: "oracle", env: []string{"SLUICE_CASES=5000"}, packages: in("./internal/oracle")},
	{name: "policy", packages: in("./policy/...", "./lint")},
	{name: "runner", args: []string{"-skip=^TestSoak"}, packages: in(".", "./internal/proof/apitest")},
	{name: "proptest", args: []string{"-run=^(TestInvariants|TestExplored)$", "-skip=^TestInvariants$/./that"}, packages: in("./internal/proof/proptest")},
	{name: "linearizability", packages: in("./internal/proof/linearizability")},
	{name: "vectors", packages: in("./vectors")},
}

func suiteNames() (names []string) {
	for _, s := range suites {
		names = append(names, s.name)
	}
	return names
}

func chosenSuites(names string) (chosen []suite, wrong string) {
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(suites, func(s suite) bool { return s.name == name })
		if i < 0 {
			return nil, name
		}
		chosen = append(chosen, suites[i])
	}
	return chosen, ""
}

// world is which packages of the pure part are tested and what they need.
type world struct {
	tested map[string]bool
	// dependents are the tested packages that need a package, itself left out.
	dependents map[string][]string
}

// pure are the packages that the suite "core" is chosen from.
var pure = []string{"./core/...", "./reducer/...", "./clock"}

func survey() (*world, error) {
	all, err := golist(append([]string{"-test"}, pure...)...)
	if err != nil {
		return nil, err
	}
	w := &world{tested: map[string]bool{}, dependents: map[string][]string{}}
	for _, l := range all {
		if l.ForTest == "" && len(l.TestGoFiles)+len(l.XTestGoFiles) > 0 {
			w.tested[l.ImportPath] = true
		}
	}
	for _, l := range all {
		// The program that runs the tests of a package has the name PACKAGE.test.
		path, ok := strings.CutSuffix(l.ImportPath, ".test")
		if !ok {
			continue
		}
		for _, dep := range l.Deps {
			dep, _, _ = strings.Cut(dep, " ")
			if dep != path && !slices.Contains(w.dependents[dep], path) {
				w.dependents[dep] = append(w.dependents[dep], path)
			}
		}
	}
	return w, nil
}
