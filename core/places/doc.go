// Package places has the holders of places that a bulkhead and an adaptive limit share:
// each grant has a slot, which is found without a search, a number, and a lease where
// places have one.
//
// Guarantees, by their names in GUARANTEES.md:
//
//   - K3: places are conserved: each grant is numbered, and ends once.
//   - K8, G13: late, duplicate and unknown permits name no holder.
//   - G9: only the holders determine the slots of later grants: the lowest that are free.
//   - G10, G20: memory grows to the most holders at once, at most the places; the
//     encoding has only the places of now.
//
// A grant and its end take O(log n) of the most holders at once, and a renewal O(1)
// while leases are equally long.
package places
