package keyedcells

// lose keeps an evicted key for Evicted.
func (c *Cells) lose(key string) {
	c.lost.Lock()
	defer c.lost.Unlock()
	c.lost.keys = append(c.lost.keys, key)
	c.lost.some.Store(true)
}

// Evicts reports whether Evicted has keys to return.
func (c *Cells) Evicts() bool { return c.lost.some.Load() }

// Evicted returns the keys that were evicted while Config.Watched reported true and that
// no other call of Evicted has returned. A key is empty where names are not kept. The
// caller of Use asks for them when it has unlocked the cell.
func (c *Cells) Evicted() (keys []string) {
	c.lost.Lock()
	defer c.lost.Unlock()
	keys, c.lost.keys = c.lost.keys, nil
	c.lost.some.Store(false)
	return keys
}
