package attempt

import (
	"context"
	"sync/atomic"
)

// Hook is a function that contexts call when they are cancelled. It belongs to what
// waits for a context, as a connection, so that it is attached without an allocation.
type Hook struct{ F func() }

// Hooked is a context that calls Hooks. One that package context derives from it is not
// Hooked; there context.AfterFunc serves.
type Hooked interface {
	context.Context

	// Attach has the context, and those that it is derived from, call a Hook when they
	// are cancelled by this process; when another one cancels the first of them, only
	// after Follow. A deadline may not call it: the caller has its mark by Deadline. Nor
	// does an end before Attach: the caller looks at Err after it. A Hook may be called
	// more than once, on any goroutine. Attach returns false where it cannot be
	// attached, as beside another one.
	Attach(h *Hook) bool

	// Follow has every end call the Hook. It costs what Attach saves, so the caller
	// waits with it until it has waited for some time.
	Follow()

	// Detach undoes Attach. It returns false where the Hook was called or will be.
	Detach(h *Hook) bool
}

// Slot holds the Hook of a context, nil for none.
type Slot struct{ hook atomic.Pointer[Hook] }

// Attach puts a Hook in an empty slot, and attaches it to the parent of the context.
func (s *Slot) Attach(parent Hooked, h *Hook) bool {
	if !s.hook.CompareAndSwap(nil, h) {
		return false
	}
	if !parent.Attach(h) {
		s.hook.CompareAndSwap(h, nil)
		return false
	}
	return true
}

// Detach undoes Attach.
func (s *Slot) Detach(parent context.Context, h *Hook) bool {
	own := s.hook.CompareAndSwap(h, nil)
	if p, ok := parent.(Hooked); ok {
		return p.Detach(h) && own
	}
	return own
}

// Call calls the Hook, if there is one.
func (s *Slot) Call() {
	if h := s.hook.Swap(nil); h != nil {
		h.F()
	}
}
