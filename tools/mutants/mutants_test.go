package main

import (
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// unitOf makes a package of one file.
func unitOf(t *testing.T, text string) *unit {
	t.Helper()
	fset := token.NewFileSet()
	f := &source{path: "mutate.go", text: []byte(text)}
	var err error
	if f.tree, err = parser.ParseFile(fset, f.path, f.text, parser.SkipObjectResolution); err != nil {
		t.Fatal(err)
	}
	u := &unit{path: "p", dir: "./p", files: []*source{f}, fset: fset, imports: importer.Default(),
		info: types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	if err := u.check(nil, nil, &u.info); err != nil {
		t.Fatal(err)
	}
	return u
}

const sample = `package p

type bucket struct{ level, size int }

func (b *bucket) take(n int, quick bool) bool {
	if quick && n > b.size { // too much
		return false
	}
	b.level += n
	switch n {
	case 0:
		panic(1)
	}
	return min(b.level, 9) != n
}
`

func TestMutants(t *testing.T) {
	t.Parallel()
	var got []string
	for _, m := range unitOf(t, sample).mutants() {
		got = append(got, strings.TrimPrefix(m.String(), "mutate.go:"))
	}
	want := strings.Split(strings.TrimSpace(`
6: bucket.take: if quick && n > b.size { ... -> (deleted)
9: bucket.take: b.level += n -> (deleted)
10: bucket.take: switch n { ... -> (deleted)
6: bucket.take: if quick && n > b.size { -> if !(quick && n > b.size) {
6: bucket.take: if quick && n > b.size { -> if quick {
6: bucket.take: if quick && n > b.size { -> if n > b.size {
6: bucket.take: if quick && n > b.size { -> if quick && n >= b.size {
6: bucket.take: if quick && n > b.size { -> if quick && n <= b.size {
7: bucket.take: return false -> (deleted)
7: bucket.take: return false -> return true
9: bucket.take: b.level += n -> b.level -= n
11: bucket.take: case 0: ... -> (deleted)
11: bucket.take: case 0: -> case 1:
14: bucket.take: return min(b.level, 9) != n -> return min(b.level, 9) == n
14: bucket.take: return min(b.level, 9) != n -> return max(b.level, 9) != n
14: bucket.take: return min(b.level, 9) != n -> return b.level != n
14: bucket.take: return min(b.level, 9) != n -> return min(b.level, 10) != n
14: bucket.take: return min(b.level, 9) != n -> return min(b.level, 8) != n
`), "\n")
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEquivalents(t *testing.T) {
	t.Parallel()
	u := unitOf(t, sample)
	all := u.mutants()
	known, err := parseEquivalents("# why\n" + all[3].id() + "\n" + all[4].id() + "\n\n# why not\n" + all[5].id() + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if known.count(all) != 3 || known[all[4].id()] != "why" || known[all[5].id()] != "why not" {
		t.Errorf("read %v", known)
	}
	if err := known.check([]*unit{u}, all); err != nil {
		t.Error(err)
	}
	if left := choose(options{only: regexp.MustCompile("")}, known, all); len(left) != len(all)-3 {
		t.Errorf("%d of %d are left", len(left), len(all))
	}
	for _, text := range []string{"mutate.go bucket.take: gone -> (deleted)", "gone.go f: a -> b"} {
		known, err := parseEquivalents("# why\n" + text + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if err := known.check([]*unit{u}, all); err == nil || !strings.HasSuffix(err.Error(), "\n"+text) {
			t.Errorf("%s: error %v", text, err)
		}
	}
	for _, text := range []string{"no reason\n", "# why\n\nno reason\n", "# why\ntwice\ntwice\n"} {
		if _, err := parseEquivalents(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all := unitOf(t, sample).mutants()
	o := options{only: regexp.MustCompile("quick"), sample: 3, seed: 7}
	first, second := choose(o, nil, all), choose(o, nil, all)
	if len(first) != 3 || !slices.Equal(first, second) {
		t.Errorf("drew %v, then %v", first, second)
	}
	o.sample = 0
	if all := choose(o, nil, all); len(all) != 6 {
		t.Errorf("%d of all", len(all))
	}
}

func TestSuites(t *testing.T) {
	t.Parallel()
	if chosen, wrong := chosenSuites("oracle,own"); wrong != "" || len(chosen) != 2 || chosen[0].name != "oracle" {
		t.Errorf("chose %v, wrong %q", chosen, wrong)
	}
	if _, wrong := chosenSuites("own,all"); wrong != "all" {
		t.Errorf("wrong is %q", wrong)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	all := unitOf(t, sample).mutants()
	var out strings.Builder
	code, err := report([]verdict{{mutant: all[0], by: "own"}, {mutant: all[1]}, {mutant: all[2], by: "oracle"}}, 4, 3*time.Second, &out)
	want := "\nSURVIVED " + all[1].String() + "\n3 of 4 mutants in 3s: 2 caught (own 1, oracle 1), 1 survived\n"
	if code != 1 || err != nil || out.String() != want {
		t.Errorf("code %d, error %v, printed\n%s", code, err, out.String())
	}
	if code, err := report([]verdict{{mutant: all[0], by: "own"}}, 1, 0, &out); code != 0 || err != nil {
		t.Errorf("code %d, error %v", code, err)
	}
	failed := errors.New("does not build")
	if code, err := report([]verdict{{mutant: all[0], err: failed}}, 1, 0, &out); code != 2 || !errors.Is(err, failed) {
		t.Errorf("code %d, error %v", code, err)
	}
}
