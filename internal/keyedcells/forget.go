package keyedcells

// Forget evicts a key, as if it had not been used for the longest time. ok is false
// where the key has no cell of its own, and where calls wait or hold something there,
// which held says.
func (c *Cells) Forget(key string) (ok, held bool) {
	h := c.hash(key)
	s := c.lock(h)
	defer s.mu.Unlock()
	index, ok := s.table.Find(h)
	switch {
	case !ok:
		return false, false
	case s.table.Held(index):
		return false, true
	}
	s.forget(index)
	s.drop(index, s.table.Remove(index))
	return true, false
}
