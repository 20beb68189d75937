package scenario

import (
	"strconv"
	"strings"
)

// String says what the fault does, as in "slow x4" or "fail 100%, 2 servers".
func (f *Fault) String() string {
	var parts []string
	if f.Slow != 1 {
		parts = append(parts, "slow x"+strconv.FormatFloat(f.Slow, 'f', -1, 64))
	}
	if f.Fail.Positive() {
		parts = append(parts, "fail "+f.Fail.String())
	}
	if f.Throttle.Positive() {
		parts = append(parts, "throttle "+f.Throttle.String())
	}
	if f.Servers == 1 {
		parts = append(parts, "1 server")
	} else if f.Servers >= 0 {
		parts = append(parts, strconv.Itoa(f.Servers)+" servers")
	}
	for _, one := range []struct {
		set  bool
		word string
	}{{f.Pause, "pause"}, {f.Flush, "flush"}, {f.Restart, "restart"}} {
		if one.set {
			parts = append(parts, one.word)
		}
	}
	return strings.Join(parts, ", ")
}
