package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/tree"
)

// watch reads the file again whenever it changes or an operator asks.
func (s *Server) watch(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	document, last := newSettled(look(s.config.File)), s.config.Source
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.config.Reload:
			document.taken(look(s.config.File))
			last = s.reload(last, true)
			s.tls.reload(true)
			s.operator.reload(true)
			if file, ok := s.config.Access.(interface{ Reopen() error }); ok {
				if err := file.Reopen(); err != nil {
					s.log.Error("the access log cannot be opened again; the old one is written on", "error", err)
				}
			}
		case <-ticker.C:
			if document.changed(look(s.config.File)) {
				last = s.reload(last, false)
			}
			s.tls.reload(false)
			s.operator.reload(false)
			s.tracer.look()
		}
	}
}

// glance is what tells a changed file without reading it.
type glance struct {
	size     int64
	modified time.Time
	missing  bool
}

func look(file string) glance {
	info, err := os.Stat(file)
	if err != nil {
		return glance{missing: true}
	}
	return glance{size: info.Size(), modified: info.ModTime()}
}

// reload reads the file and activates it, or says why not and leaves the old
// document. It returns what it read last, nil where the file could not be read: when it
// is back with the same text, the metrics have to say that it is active.
func (s *Server) reload(last []byte, asked bool) []byte {
	src, err := read(s.config.File)
	switch {
	case err != nil:
		s.refused("the policy file cannot be read; the old policy stays active", []string{err.Error()})
		return nil
	case !asked && bytes.Equal(src, last):
		return last
	}
	before := s.plans()
	if err := s.set.Reload(s.config.File, src); err != nil {
		s.refused("the policy document is refused; the old one stays active", lines(err))
		return src
	}
	s.meter.reloaded(true)
	attrs := []any{"policy", s.config.File, "changed", !bytes.Equal(src, last)}
	if steps := s.anew(before); len(steps) > 0 {
		attrs = append(attrs, "begin_anew", strings.Join(steps, ", "))
	}
	s.log.Info("the policy document is active", attrs...)
	return src
}

// plans returns the active plans by their policies.
func (s *Server) plans() map[string]*pipeline.Plan {
	plans := map[string]*pipeline.Plan{}
	for _, policy := range s.set.Document().Policies {
		plans[policy.Name] = s.set.Pipeline(policy.Name).Plan()
	}
	return plans
}

// anew returns the steps, as POLICY.STEP, that begin without state although their policy was
// there before: those with a new name, and those of another mechanism or per. Blocks and
// counts of the steps that they replace are gone.
func (s *Server) anew(before map[string]*pipeline.Plan) (list []string) {
	for _, policy := range s.set.Document().Policies {
		old, plan := before[policy.Name], s.set.Pipeline(policy.Name).Plan()
		if old == nil || plan == nil {
			continue
		}
		for i := range plan.Len() {
			if plan.Match(i, old) < 0 && mechanisms.Row(plan.Kind(i)).Traits.Has(mechanism.Keyed) {
				list = append(list, policy.Name+"."+plan.StepName(i))
			}
		}
	}
	return list
}

func (s *Server) refused(message string, errs []string) {
	s.meter.reloaded(false)
	for _, one := range errs {
		s.log.Error(message, "policy", s.config.File, "error", one)
	}
}

// mostErrors is how many errors of a document are worth a line each.
const mostErrors = 20

// lines returns the errors of a document one by one, each FILE:LINE:COLUMN: ...
func lines(err error) []string {
	var many policy.Errors
	if !errors.As(err, &many) {
		return []string{err.Error()}
	}
	var list []string
	for _, one := range many[:min(len(many), mostErrors)] {
		list = append(list, one.Error())
	}
	return list
}

// read reads a document, and a byte more than one may have at most.
func read(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, bare(err)
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, tree.MaxBytes+1))
	return src, bare(err)
}

// bare is an error of a file without its name, which the log line has.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
