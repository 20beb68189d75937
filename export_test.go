package sluice

// IsWord reports whether the state of a limiter is one atomic word.
func (l *Limiter) IsWord() bool {
	w := l.word.Load()
	return w != nil && w.tat.Load() != locked
}
