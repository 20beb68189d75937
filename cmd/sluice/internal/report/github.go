package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice/lint"
	"github.com/sluice-go/sluice/policy"
)

// GitHub writes a report, or the errors of a document that has none, as workflow
// commands of GitHub Actions, which shows them beside the lines of a change. With
// strict, warnings are errors.
func GitHub(w io.Writer, file string, strict bool, r *lint.Report, errs policy.Errors) error {
	var text strings.Builder
	add := func(level, rule, message string, line, column int) {
		fmt.Fprintf(&text, "::%s file=%s", level, escapeProperty(file))
		if line > 0 {
			fmt.Fprintf(&text, ",line=%d,col=%d", line, column)
		}
		fmt.Fprintf(&text, ",title=%s::%s\n", escapeProperty(rule), escapeData(message))
	}
	for _, e := range errs {
		add("error", documentRule, e.Error(), e.Line, e.Column)
	}
	if r != nil {
		r.All(func(p *lint.Policy, f *lint.Finding) {
			level := "notice"
			if f.Severity == lint.Warning {
				level = "warning"
				if strict {
					level = "error"
				}
			}
			add(level, string(f.Rule), sentence(p, f), f.Line, f.Column)
		})
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// escapeData escapes the message of a workflow command.
func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// escapeProperty escapes a property of a workflow command.
func escapeProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(text))
}
