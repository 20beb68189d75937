package report

import (
	"io"
	"unicode/utf8"

	"github.com/sluice-go/sluice/lint"
)

// changes is the JSON of sluice lint --json A B. Fields are added, never renamed.
type changes struct {
	From     string        `json:"from"`
	To       string        `json:"to"`
	ExitCode int           `json:"exit_code"`
	Looser   int           `json:"looser"`
	Tighter  int           `json:"tighter"`
	Other    int           `json:"other"`
	Changes  []lint.Change `json:"changes"`
}

func summary(from, to string, code int, list []lint.Change) changes {
	all := changes{From: from, To: to, ExitCode: code, Changes: list}
	for i := range list {
		switch list[i].Effect {
		case lint.Looser:
			all.Looser++
		case lint.Tighter:
			all.Tighter++
		default:
			all.Other++
		}
	}
	return all
}

// ChangesJSON writes what a document changes of another one.
func ChangesJSON(w io.Writer, from, to string, code int, list []lint.Change) error {
	all := summary(from, to, code, list)
	return encode(w, &all)
}

// Changes writes the same for people: a line for each change, below a line that
// says what it is about.
func Changes(w io.Writer, from, to string, list []lint.Change) error {
	t := &text{file: to}
	wide := 0
	for i := range list {
		wide = max(wide, utf8.RuneCountInString(list[i].Setting))
	}
	heading := ""
	for i := range list {
		c := &list[i]
		about := "routes and http"
		if c.Policy != "" {
			about = "policy " + c.Policy
		}
		if c.Step != "" {
			about += ", " + c.Step + per(c.Per)
		}
		if about != heading {
			t.printf("%s\n", about)
			heading = about
		}
		t.printf("  %-7s  %-*s  %s -> %s\n", c.Effect, wide, c.Setting, orNothing(c.From), orNothing(c.To))
	}
	all := summary(from, to, 0, list)
	t.printf("%s -> %s: %d looser, %d tighter, %d other\n", from, to, all.Looser, all.Tighter, all.Other)
	_, err := io.WriteString(w, t.String())
	return err
}

// orNothing writes what is not there.
func orNothing(value string) string {
	if value == "" {
		return "(none)"
	}
	return value
}
