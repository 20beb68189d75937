package bulkhead

import (
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/core/mechanism"
)

// describe describes how many calls may run, and how many may wait.
func describe(config mechanism.Config, _ mechanism.Step) string {
	c := config.(Config)
	text := mechanism.Number(c.Concurrent) + " at once, " + c.Cost.Text() + mechanism.QueueText(c.Queue, c.Wait, c.Order == limiter.Newest)
	if c.Lease > 0 {
		text += ", lease " + mechanism.Span(c.Lease)
	}
	return text
}
