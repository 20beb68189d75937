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

// Covers reports whether the fallback replaces this end of a call. It replaces
// neither a cancelled call, nor a success, nor an error of the caller.
func Covers(o reducer.Outcome) bool {
	return o == reducer.Fail || o == reducer.Throttle || o == reducer.Timeout
}
