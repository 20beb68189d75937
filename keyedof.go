package sluice

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"reflect"
	"strconv"
	"time"
)

// KeyedLimiterOf is a KeyedLimiter for keys of a comparable type, as numbers, addresses,
// arrays and structs. Two keys are the same when they are equal by ==. Keys that == does not
// compare, as NaN and an any with a slice, are the same when their texts by KeyOf are. It is
// safe for concurrent use. NewKeyedLimiterOf makes one; a zero KeyedLimiterOf refuses every key.
type KeyedLimiterOf[K comparable] struct {
	limiter *KeyedLimiter // nil for a zero KeyedLimiterOf
	seeds   [2]maphash.Seed
	// dynamic says that keys may have parts of types that are not comparable.
	dynamic bool
}

// NewKeyedLimiterOf is NewKeyedLimiter for keys of a comparable type.
func NewKeyedLimiterOf[K comparable](c LimiterConfig, options ...Option) (*KeyedLimiterOf[K], error) {
	l, err := NewKeyedLimiter(c, options...)
	if err != nil {
		return nil, err
	}
	return &KeyedLimiterOf[K]{l, [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, hasInterface(reflect.TypeFor[K]())}, nil
}

// hash is a key as the limiter has it: 128 bits by two seeds, so that clients cannot choose
// keys that collide.
type hash [16]byte

func (l *KeyedLimiterOf[K]) hash(key K) (h hash) {
	// A NaN has another hash each time, and no limit.
	if l.dynamic && !reflect.ValueOf(key).Comparable() || key != key {
		return l.hashText(KeyOf(key))
	}
	binary.LittleEndian.PutUint64(h[:8], maphash.Comparable(l.seeds[0], key))
	binary.LittleEndian.PutUint64(h[8:], maphash.Comparable(l.seeds[1], key))
	return h
}

func (l *KeyedLimiterOf[K]) hashText(text string) (h hash) {
	binary.LittleEndian.PutUint64(h[:8], maphash.String(l.seeds[0], text))
	binary.LittleEndian.PutUint64(h[8:], maphash.String(l.seeds[1], text))
	return h
}

// hasInterface reports whether values of a type have a part whose type is known at run time
// alone.
func hasInterface(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Array:
		return hasInterface(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasInterface(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// Allow reports whether the key has a permit free now, and takes it.
func (l *KeyedLimiterOf[K]) Allow(key K) bool { return l.AllowN(key, 1) }

// AllowN is Allow for n permits, as KeyedLimiter.AllowN.
func (l *KeyedLimiterOf[K]) AllowN(key K, n uint32) bool {
	if l.limiter == nil {
		return false
	}
	h := l.hash(key)
	return l.limiter.allow(string(h[:]), l.name(key), n)
}

// name returns the key in events, where there is a listener.
func (l *KeyedLimiterOf[K]) name(key K) string {
	if !l.limiter.events.on() {
		return ""
	}
	return KeyOf(key)
}

// Wait waits for a permit of the key, as KeyedLimiter.Wait.
func (l *KeyedLimiterOf[K]) Wait(ctx context.Context, key K) error { return l.WaitN(ctx, key, 1) }

// WaitN is Wait for n permits.
func (l *KeyedLimiterOf[K]) WaitN(ctx context.Context, key K, n uint32) error {
	if l.limiter == nil {
		return errZeroKeyed
	}
	h := l.hash(key)
	return l.limiter.wait(ctx, string(h[:]), l.name(key), n)
}

// Reserve takes n permits of the key that may be used after at most wait, as
// KeyedLimiter.Reserve.
func (l *KeyedLimiterOf[K]) Reserve(key K, n uint32, wait time.Duration) (Reservation, error) {
	if l.limiter == nil {
		return Reservation{}, errZeroKeyed
	}
	h := l.hash(key)
	return l.limiter.reserve(string(h[:]), l.name(key), n, wait)
}

// Configure changes the active limiter, as KeyedLimiter.Configure.
func (l *KeyedLimiterOf[K]) Configure(c LimiterConfig) error {
	if l.limiter == nil {
		return errZeroKeyed
	}
	return l.limiter.Configure(c)
}

// Reset gives the key all its permits, as KeyedLimiter.Reset.
func (l *KeyedLimiterOf[K]) Reset(key K) bool {
	if l.limiter == nil {
		return false
	}
	h := l.hash(key)
	return l.limiter.reset(string(h[:]), l.name(key))
}

// Listen is KeyedLimiter.Listen. Event.Key is KeyOf the key.
func (l *KeyedLimiterOf[K]) Listen(f func(Event), kinds ...EventKind) (stop func()) {
	if l.limiter == nil {
		return func() {}
	}
	return l.limiter.Listen(f, kinds...)
}

// Peek returns how many permits the key has free, and after what time n of them are, as
// KeyedLimiter.Peek.
func (l *KeyedLimiterOf[K]) Peek(key K, n uint32) (free uint32, after time.Duration) {
	if l.limiter == nil {
		return 0, -1
	}
	h := l.hash(key)
	return l.limiter.Peek(string(h[:]), n)
}

// Len returns how many keys do not have all their permits. It visits all keys.
func (l *KeyedLimiterOf[K]) Len() int {
	if l.limiter == nil {
		return 0
	}
	return l.limiter.Len()
}

// Evictions returns how many keys were evicted before they had all their permits back.
func (l *KeyedLimiterOf[K]) Evictions() uint64 {
	if l.limiter == nil {
		return 0
	}
	return l.limiter.Evictions()
}

// KeyOf returns a key of a concrete type as text, for Request.Key and Request.Lookup: a
// string as it is, an integer in decimal form, any other key in Go's own form of its
// value, so that keys that are not equal have different texts. A key with a pointer or
// a channel in it has no text that another process knows.
func KeyOf[K comparable](key K) string {
	switch k := any(key).(type) {
	case string:
		return k
	case int:
		return strconv.Itoa(k)
	case int64:
		return strconv.FormatInt(k, 10)
	case uint64:
		return strconv.FormatUint(k, 10)
	}
	return fmt.Sprintf("%#v", key)
}
