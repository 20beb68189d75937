// Package cell puts every mechanism with shared state behind one interface, so
// that a driver holds a machine and its state together without knowing which
// mechanism it is. It adds nothing to what the machines decide.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - G9: a failed Restore changes nothing; a restored cell decides as the one that
//     was saved.
//   - G10: MaxSize bounds the bytes of a state without waiters.
//   - G16: Adopt follows the configure rules of each mechanism; the state of another
//     mechanism is not adopted.
//
// Source: policy/REFERENCE.md#cells-and-keys.
package cell
