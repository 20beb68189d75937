package hedge_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/budget"
	"github.com/sluice-go/sluice/core/hedge"
	"github.com/sluice-go/sluice/reducer"
)

func TestConfig(t *testing.T) {
	p95 := reducer.Percent(95)
	for _, c := range []struct {
		config       hedge.Config
		want         hedge.Config // zero when it is refused
		field, found string
	}{
		{config: hedge.Config{After: time.Second}, want: hedge.Config{After: time.Second, Max: 1}},
		{config: hedge.Config{Parallel: true, Max: 10}, want: hedge.Config{Parallel: true, Max: 10}},
		{config: hedge.Config{Percentile: p95}, want: hedge.Config{Percentile: p95, Max: 1, Samples: 100, Minimum: 20}},
		{config: hedge.Config{Percentile: p95, Samples: 7}, want: hedge.Config{Percentile: p95, Max: 1, Samples: 7, Minimum: 7}},
		{config: hedge.Config{}, field: "after", found: "0s"},
		{config: hedge.Config{After: -1}, field: "after", found: "-1ns"},
		{config: hedge.Config{Percentile: reducer.Millionths(reducer.Whole + 1)}, field: "after", found: "100.0001%"},
		{config: hedge.Config{After: 1, Percentile: reducer.Millionths(1)}, field: "after", found: "1ns"},
		{config: hedge.Config{After: 1, Parallel: true}, field: "after", found: "1ns"},
		{config: hedge.Config{Percentile: reducer.Millionths(1), Parallel: true}, field: "after", found: "0s"},
		{config: hedge.Config{After: 1, Max: 11}, field: "max", found: "11"},
		{config: hedge.Config{After: 1, Unbudgeted: true}, want: hedge.Config{After: 1, Max: 1, Unbudgeted: true}},
		{config: hedge.Config{After: 1, Budgeted: true, Unbudgeted: true}, field: "budget", found: "0%"},
		{config: hedge.Config{After: 1, Samples: 1}, field: "samples", found: "1"},
		{config: hedge.Config{Parallel: true, Minimum: 1}, field: "minimum", found: "1"},
		{config: hedge.Config{Percentile: reducer.Millionths(1), Samples: 10_001}, field: "samples", found: "10001"},
		{config: hedge.Config{Percentile: reducer.Millionths(1), Samples: 5, Minimum: 6}, field: "minimum", found: "6"},
		{config: hedge.Config{After: 1, Budgeted: true, Budget: budget.Config{Window: 1}}, field: "budget.window", found: "1ns"},
	} {
		m, err := hedge.New(c.config)
		if c.field == "" {
			if err != nil || m.Config() != c.want {
				t.Errorf("%+v: %v, %v", c.config, m, err)
			}
			continue
		}
		var wrong *reducer.ConfigError
		if !errors.As(err, &wrong) || wrong.Field != c.field || wrong.Value != c.found {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}
