package serve

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/filewatch"
	"github.com/sluice-go/sluice/policy"
)

// watch reads the file again whenever it changes or an operator asks.
func (s *Server) watch(ctx context.Context) {
	ticker := time.NewTicker(filewatch.Every)
	defer ticker.Stop()
	document := filewatch.New(s.config.File, s.config.Source)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.config.Reload:
			s.reload(document.Read())
			s.tls.reload(true)
			s.operator.reload(true)
			if file, ok := s.config.Access.(interface{ Reopen() error }); ok {
				if err := file.Reopen(); err != nil {
					s.log.Error("the access log cannot be opened again; the old one is written on", "error", err)
				}
			}
		case <-ticker.C:
			if change, ok := document.Changed(); ok {
				s.reload(change)
			}
			s.tls.reload(false)
			s.operator.reload(false)
			s.tracer.look()
		}
	}
}

// reload activates what the file has, or says why not and leaves the old document.
func (s *Server) reload(change filewatch.Change) {
	if change.Err != nil {
		s.refused("the policy file cannot be read; the old policy stays active", []string{change.Err.Error()})
		return
	}
	before := s.plans()
	if err := s.set.Reload(s.config.File, change.Text); err != nil {
		s.refused("the policy document is refused; the old one stays active", lines(err))
		return
	}
	s.meter.reloaded(true)
	attrs := []any{"policy", s.config.File, "changed", !change.Same}
	if steps := s.anew(before); len(steps) > 0 {
		attrs = append(attrs, "begin_anew", strings.Join(steps, ", "))
	}
	s.log.Info("the policy document is active", attrs...)
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
// there before: steps with a new name, and steps of another mechanism or per. Blocks and
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
