package report

import (
	"io"
	"path/filepath"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
)

// documentRule is the rule of an error of a document in formats where everything
// has one.
const documentRule = "document"

// SARIF writes a report, or the errors of a document that has none, in the Static
// Analysis Results Interchange Format 2.1.0. With strict, warnings are errors.
func SARIF(w io.Writer, file string, strict bool, r *lint.Report, errs policy.Errors) error {
	run := sarif.NewRunWithInformationURI("sluice lint", "https://github.com/sluice-go/sluice")
	columns := "unicodeCodePoints"
	run.ColumnKind = &columns
	run.AddRule(documentRule).WithDescription("an error of the document")
	for _, info := range lint.Rules() {
		run.AddRule(string(info.Rule)).WithDescription(info.Finds).WithFullDescription(sarif.NewMultiformatMessageString().WithText(info.Finds + ": " + info.Reason))
	}
	add := func(rule, level, message string, line, column int) {
		place := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(filepath.ToSlash(file)))
		if line > 0 {
			place.WithRegion(sarif.NewRegion().WithStartLine(line).WithStartColumn(column))
		}
		run.CreateResultForRule(rule).WithLevel(level).WithMessage(sarif.NewTextMessage(message)).AddLocation(sarif.NewLocationWithPhysicalLocation(place))
	}
	for _, e := range errs {
		add(documentRule, "error", e.Error(), e.Line, e.Column)
	}
	if r != nil {
		r.All(func(p *lint.Policy, f *lint.Finding) {
			level := "note"
			if f.Severity == lint.Warning {
				level = "warning"
				if strict {
					level = "error"
				}
			}
			add(string(f.Rule), level, sentence(p, f), f.Line, f.Column)
		})
	}
	all := sarif.NewReport()
	all.AddRun(run)
	return encode(w, all)
}

// sentence is a finding in one line.
func sentence(p *lint.Policy, f *lint.Finding) string {
	text := ""
	if p != nil {
		text = "policy " + p.Name + ": "
	}
	text += f.Message + " (" + f.Reason + ")"
	if f.Mended != "" {
		text += "; mended: " + f.Mended
	}
	return text
}
