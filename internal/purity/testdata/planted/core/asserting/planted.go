package asserting

import "example.test/planted/core/internal/assert"

type Machine struct{ n int }

func (m *Machine) Step() {
	assert.That(m.n > 0) // want assertion
	m.assert()           // want assertion
	if assert.On {
		m.assert()
		assert.That(m.n > 0)
	} else {
		m.assert() // want assertion
	}
	if m.n > 1 {
		m.assert() // want assertion
	}
}

func (m *Machine) assert() { assert.That(m.n > 0) }
