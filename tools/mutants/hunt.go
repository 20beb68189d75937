package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// verdict is what became of a mutant.
type verdict struct {
	mutant *mutant
	// by is the suite that caught it, empty for one that survived.
	by   string
	took time.Duration
	err  error
}

// hunter runs suites.
type hunter struct {
	world  *world
	suites []suite
	// limits are how long a suite may take with a mutant.
	limits map[string]time.Duration
	self   string
	// temp holds the mutants, cache what go builds.
	temp, cache string
	warmed      time.Time
}

// hunt runs the suites against mutants and prints what survives.
func hunt(ctx context.Context, o options, mutants []*mutant, out io.Writer) (code int, err error) {
	h := &hunter{limits: map[string]time.Duration{}}
	var wrong string
	if h.suites, wrong = chosenSuites(o.suites); wrong != "" {
		return 2, fmt.Errorf("-suites: found %q; allowed: %s", wrong, strings.Join(suiteNames(), ", "))
	}
	if h.self, err = os.Executable(); err != nil {
		return 2, err
	}
	if h.world, err = survey(); err != nil {
		return 2, err
	}
	if h.temp, err = os.MkdirTemp("", "sluice-mutants-*"); err != nil {
		return 2, err
	}
	defer os.RemoveAll(h.temp)
	if h.cache, err = os.UserCacheDir(); err != nil {
		return 2, err
	}
	h.cache = filepath.Join(h.cache, "sluice-mutants")
	began := time.Now()
	if err := h.warm(ctx, out); err != nil {
		return 2, err
	}
	verdicts := h.all(ctx, o, began, mutants, out)
	return report(verdicts, len(mutants), time.Since(began), out)
}

// warm runs the suites on the tree as it is, which must pass, and sets their
// limits.
func (h *hunter) warm(ctx context.Context, out io.Writer) error {
	everywhere := &unit{}
	for path := range h.world.tested {
		h.world.dependents[""] = append(h.world.dependents[""], path)
	}
	slices.Sort(h.world.dependents[""])
	for _, s := range h.suites {
		began := time.Now()
		if packages := s.packages(everywhere, h.world); len(packages) > 0 {
			if text, err := h.test(ctx, s, packages, "", 10*time.Minute); err != nil {
				return fmt.Errorf("the suite %s fails without a mutant: %w\n%s", s.name, err, text)
			}
			// A second time, when nothing needs to be built.
			began = time.Now()
			if _, err := h.test(ctx, s, packages, "", 10*time.Minute); err != nil {
				return fmt.Errorf("the suite %s fails without a mutant: %w", s.name, err)
			}
		}
		took := time.Since(began)
		h.limits[s.name] = 20*time.Second + 4*took
		fmt.Fprintf(out, "suite %-16s %5.1f s\n", s.name, took.Seconds())
	}
	h.warmed = time.Now()
	return nil
}

// all runs the mutants in parallel until the budget is spent.
func (h *hunter) all(ctx context.Context, o options, began time.Time, mutants []*mutant, out io.Writer) (verdicts []verdict) {
	next, done := make(chan *mutant), make(chan verdict)
	var workers sync.WaitGroup
	for range o.jobs {
		workers.Go(func() {
			for m := range next {
				done <- h.one(ctx, m)
			}
		})
	}
	go func() {
		for _, m := range mutants {
			if ctx.Err() != nil || o.budget > 0 && time.Since(began) > o.budget {
				break
			}
			next <- m
		}
		close(next)
		workers.Wait()
		close(done)
	}()
	for v := range done {
		if ctx.Err() != nil {
			continue
		}
		verdicts = append(verdicts, v)
		said := "caught by " + v.by
		if v.err != nil {
			said = "error: " + v.err.Error()
		} else if v.by == "" {
			said = "SURVIVED"
		}
		fmt.Fprintf(out, "%3d/%d %5.1f s %s: %s\n", len(verdicts), len(mutants), v.took.Seconds(), v.mutant, said)
		if err := h.prune(); err != nil {
			fmt.Fprintln(out, "mutants:", err)
		}
	}
	return verdicts
}

// one runs the suites until one catches the mutant.
func (h *hunter) one(ctx context.Context, m *mutant) (v verdict) {
	v.mutant = m
	began := time.Now()
	defer func() { v.took = time.Since(began) }()
	dir, err := os.MkdirTemp(h.temp, "mutant-*")
	if err != nil {
		return verdict{mutant: m, err: err}
	}
	defer os.RemoveAll(dir)
	overlay, err := write(dir, m)
	if err != nil {
		return verdict{mutant: m, err: err}
	}
	for _, s := range h.suites {
		packages := s.packages(m.unit, h.world)
		if len(packages) == 0 {
			continue
		}
		text, err := h.test(ctx, s, packages, overlay, h.limits[s.name])
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return v
		}
		if strings.Contains(text, "[build failed]") || strings.Contains(text, "[setup failed]") {
			v.err = errors.New("does not build: " + text)
			return v
		}
		v.by = s.name
		return v
	}
	return v
}

// write writes the mutated file and the overlay that names it.
func write(dir string, m *mutant) (overlay string, err error) {
	path, err := filepath.Abs(m.file.path)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, "mutant.go")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(os.WriteFile(changed, m.changed(), 0o600), os.WriteFile(overlay, text, 0o600))
}

// test runs a suite and returns what it prints.
func (h *hunter) test(ctx context.Context, s suite, packages []string, overlay string, limit time.Duration) (string, error) {
	// Building takes time too, and -timeout bounds each test program.
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute+limit*time.Duration(len(packages)))
	defer cancel()
	args := []string{"test", "-count=1", "-vet=off", "-failfast", "-timeout=" + limit.String(), "-exec=" + h.self + " exec"}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat(args, s.args, packages)...)
	cmd.Env = append(append(os.Environ(), "GOCACHE="+h.cache), s.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// prune removes what was built for mutants a while ago, which no other one needs.
func (h *hunter) prune() error {
	const whileAgo = 10 * time.Minute
	return filepath.WalkDir(h.cache, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // another worker has removed it
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(h.warmed) && time.Since(info.ModTime()) > whileAgo {
			return os.Remove(path)
		}
		return nil
	})
}

// report prints the survivors and the sums.
func report(verdicts []verdict, drawn int, took time.Duration, out io.Writer) (code int, err error) {
	caught, survived, failed := map[string]int{}, []string{}, []error{}
	for _, v := range verdicts {
		switch {
		case v.err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", v.mutant, v.err))
		case v.by == "":
			survived = append(survived, v.mutant.String())
		default:
			caught[v.by]++
		}
	}
	slices.Sort(survived)
	fmt.Fprintln(out)
	for _, s := range survived {
		fmt.Fprintln(out, "SURVIVED", s)
	}
	var by []string
	for _, name := range suiteNames() {
		if caught[name] > 0 {
			by = append(by, fmt.Sprintf("%s %d", name, caught[name]))
		}
	}
	fmt.Fprintf(out, "%d of %d mutants in %s: %d caught (%s), %d survived\n",
		len(verdicts), drawn, took.Round(time.Second), len(verdicts)-len(survived)-len(failed), strings.Join(by, ", "), len(survived))
	if len(failed) > 0 {
		return 2, errors.Join(failed...)
	}
	if len(survived) > 0 {
		return 1, nil
	}
	return 0, nil
}
