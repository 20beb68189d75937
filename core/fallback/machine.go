package fallback

import "github.com/sluice-go/sluice/reducer"

// New validates the configuration and fills in the default status.
func New(c Config) (Config, error) {
	if c.Status == 0 {
		c.Status = 503
	}
	if c.Status < 100 || c.Status > 599 {
		return Config{}, reducer.BadCount("fallback.status", uint64(max(0, c.Status)), "100 to 599")
	}
	return c, nil
}

// Covers reports whether the fallback stands in for a call that ended so.
// A caller that gave up gets none, and neither does a good answer or one that
// is the caller's own mistake.
func Covers(o reducer.Outcome) bool {
	return o == reducer.Fail || o == reducer.Throttle || o == reducer.Timeout
}
