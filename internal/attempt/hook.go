package attempt

import (
	"context"
	"sync/atomic"
)

// Hook is what contexts call when they are cancelled: a function, or an Ender. It belongs
// to what waits for a context, as a connection, so that it is attached without an allocation.
type Hook struct {
	F  func()
	Of Ender // where F is nil
}

// Ender is told that a context was cancelled.
type Ender interface{ ContextEnded() }

func (h *Hook) call() {
	if h.F != nil {
		h.F()
		return
	}
	h.Of.ContextEnded()
}

// SelfKey is the key of a context of one attempt in the contexts that are derived from it,
// those that do not end with it included.
type SelfKey struct{}

// Sending is the context of an exchange whose transport says when it begins to send: before
// that the end of the caller ends it, and later it may go on for a time.
type Sending interface {
	context.Context

	// Unsent says that nothing was sent so far.
	Unsent()
	// Sends says that the transport begins to send. The caller looks at Err after it.
	Sends()
}

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
		h.call()
	}
}
