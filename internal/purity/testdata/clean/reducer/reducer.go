package reducer

import "example.test/clean/clock"

type Machine[S, A any] interface {
	Reduce(s S, a A, now clock.Mark) S
}
