package guards

import (
	"context"
	"log/slog"
	"slices"

	"github.com/sluice-go/sluice/core/pipeline"
)

// WarnKeyless logs the steps of a plan that have cells per key, for what calls are guarded
// without a function that returns one: all of them then have the empty key, unless an override
// of a call names another. It is an error where they share a cell, and a warning where `missing`
// says what becomes of them. logger is nil for slog.Default: the answers do not show that
// all tenants have one limit.
func WarnKeyless(logger *slog.Logger, plan *pipeline.Plan) {
	if logger == nil {
		logger = slog.Default()
	}
	for i := range plan.Len() {
		if !slices.Contains(plan.Per(i), "key") {
			continue
		}
		level, text := slog.LevelWarn, "no call has the key of the step, without WithKey: missing says what becomes of it"
		if plan.Settings(i).Missing == pipeline.MissingShare {
			level, text = slog.LevelError, "all calls share one cell of the step: it is per key, and without WithKey all have the empty one"
		}
		logger.Log(context.Background(), level, text, "policy", plan.Name(), "step", plan.StepName(i), "missing", plan.Settings(i).Missing.String())
	}
}
