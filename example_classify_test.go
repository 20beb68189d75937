package sluice_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-go/sluice"
)

var (
	errNoRows  = errors.New("no rows")
	errSyntax  = errors.New("syntax error")
	errTooMany = errors.New("too many connections")
)

// One function says which errors are worth another attempt, and which count for a breaker.
func ExampleWithClassify() {
	set, err := sluice.Parse("policy.yaml", []byte(`{version: 1, policies: {database: {steps: [{retry: {attempts: 3, backoff: none}}, {breaker: {window: {consecutive: 10}}}]}}}`),
		sluice.WithClassify(func(err error) sluice.Outcome {
			switch {
			case errors.Is(err, errNoRows):
				return sluice.OutcomeOK // an answer like any other
			case errors.Is(err, errSyntax):
				return sluice.OutcomeIgnore // the mistake of the caller
			case errors.Is(err, errTooMany):
				return sluice.OutcomeThrottle // worth another attempt, and the database is well
			}
			return sluice.OutcomeFail
		}))
	if err != nil {
		fmt.Println(err)
		return
	}
	database := set.Pipeline("database")
	for _, failure := range []error{errNoRows, errSyntax, errTooMany, errors.New("connection reset")} {
		attempts := 0
		_, err := sluice.Do(context.Background(), database, func(context.Context) (int, error) {
			attempts++
			return 0, failure
		})
		fmt.Println(attempts, errors.Is(err, failure), database.State()[0].Text)
	}
	// Output:
	// 1 true closed failed 0 in a row
	// 1 true closed failed 0 in a row
	// 3 true closed failed 0 in a row
	// 3 true closed failed 3 in a row
}
