package adaptive

import "github.com/sluice-go/sluice/core/mechanism"

// lint finds a share of a time that no timeout makes known.
func lint(config mechanism.Config, p mechanism.Around) {
	c := config.(Config)
	if !p.Enforced() || !c.OverShare.Positive() || c.OverShare.Millionths() == DefaultOverShare || p.Timed() {
		return
	}
	p.Warn("over-share-unknown", mechanism.Fill("over is %s of a time that no timeout makes known: where the caller has no deadline, an answer is late after %s", c.OverShare, DefaultOver), "adaptive: {over: 500ms}")
}
