package sluice

// IsWord reports whether the state of a limiter is one atomic word.
func (l *Limiter) IsWord() bool {
	w := l.word.Load()
	return w != nil && w.tat.Load() != locked
}

// Known returns how many policies a set knows: those of its document, and others that are
// not forgotten.
func (s *Set) Known() int {
	s.change.Lock()
	defer s.change.Unlock()
	return len(s.known)
}
