package oracle

import "github.com/sluice-go/sluice/core/backoff"

// row is the refusals and blocks of a limit in a row, see policy/REFERENCE.md#blocks.
type row struct {
	blocks   int
	refusals int   // since the last block or admission
	over     int64 // the mark at which the last block ended, or of a later refusal
	blocked  bool  // over is the end of a block
}

func (l *limitCell) blocks() bool { return l.cfg.Block.For.Kind != backoff.None }

// blocked reports whether a block refuses all calls now.
func (l *limitCell) blocked(now int64) bool { return l.row.blocked && now < l.row.over }

// barred is the answer during a block.
func (l *limitCell) barred(cost, now int64) answer {
	at := l.row.over
	if cost > 0 {
		at = max(at, l.retryAt(cost, now, never))
	}
	return answer{verdict: reject, reason: "blocked", retryAt: at}
}

// pardon ends the row after a good time: as long as the last block and the period.
func (l *limitCell) pardon(now int64) {
	good := int64(l.cfg.Period)
	if l.row.blocks > 0 {
		good = max(good, l.lasts(l.row.blocks))
	}
	if l.row != (row{}) && now >= after(l.row.over, good) {
		l.row = row{}
	}
}

// lasts returns how long the n-th block in a row lasts.
func (l *limitCell) lasts(n int) int64 { return delay(l.cfg.Block.For, n, -1, 0) }

// judged notes the answer to a call, and begins a block after the last refusal of a row.
func (l *limitCell) judged(a *answer, now int64) {
	l.pardon(now)
	switch {
	case a.verdict == admit:
		l.row.refusals = 0
	case a.reason == "rate":
		l.row.refusals++
		l.row.over, l.row.blocked = now, false
		if l.row.refusals >= int(l.cfg.Block.After) && l.mayBlock(now) {
			l.row.refusals, l.row.blocked = 0, true
			l.row.blocks++
			l.row.over = after(now, l.lasts(l.row.blocks))
			a.retryAt = max(a.retryAt, l.row.over)
		}
	}
}
