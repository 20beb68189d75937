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
	known atomic.Pointer[known[K, V]]
}

type known[K comparable, V any] struct {
	all   map[K]V
	first []entry[K, V] // of all, at most compared
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// compared is how many keys are compared before a look-up: where there are few, as there
// are policies in most documents, this costs less than a hash.
const compared = 4

func (n *known[K, V]) get(key K) (v V, ok bool) {
	if n == nil {
		return v, false
	}
	for i := range n.first {
		if n.first[i].key == key {
			return n.first[i].value, true
		}
	}
	if len(n.all) == len(n.first) {
		return v, false
	}
	v, ok = n.all[key]
	return v, ok
}

// All returns the map, which must not be changed.
func (m *Map[K, V]) All() map[K]V {
	if n := m.known.Load(); n != nil {
		return n.all
	}
	return nil
}

// Get returns the value of a key, which build builds the first time.
func (m *Map[K, V]) Get(key K, build func(K) V) V {
	if v, ok := m.known.Load().get(key); ok {
		return v
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.known.Load()
	if v, ok := n.get(key); ok {
		return v
	}
	next := &known[K, V]{all: map[K]V{}}
	if n != nil {
		maps.Copy(next.all, n.all)
		next.first = n.first[:len(n.first):len(n.first)]
	}
	v := build(key)
	next.all[key] = v
	if len(next.first) < compared {
		next.first = append(next.first, entry[K, V]{key, v})
	}
	m.known.Store(next)
	return v
}
