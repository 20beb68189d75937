// Package readmostly has a map for values that are looked up often and made once.
package readmostly

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Map is a map that is read without a lock and copied by the goroutine that adds to it.
// Its zero value is empty. It is safe for concurrent use.
type Map[K comparable, V any] struct {
	mu    sync.Mutex
	known atomic.Pointer[map[K]V]
}

// All returns the map, which must not be changed.
func (m *Map[K, V]) All() map[K]V {
	if known := m.known.Load(); known != nil {
		return *known
	}
	return nil
}

// Get returns the value of a key, which build builds the first time.
func (m *Map[K, V]) Get(key K, build func(K) V) V {
	if v, ok := m.All()[key]; ok {
		return v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.All()[key]; ok {
		return v
	}
	next := map[K]V{}
	maps.Copy(next, m.All())
	v := build(key)
	next[key] = v
	m.known.Store(&next)
	return v
}
