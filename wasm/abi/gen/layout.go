package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/abi"
)

// slotTexts says what the slots are, by the names of their fields.
var slotTexts = map[string]string{
	"Exact":      "in: bit 0: `now` holds for the next call, bit 1: `span` does. Cleared when used, see [Time](#time)",
	"Size":       "out: bytes left in the buffer",
	"Count":      "out: records left",
	"Records":    "out: address of the first record, valid where `count` is not 0",
	"Buffer":     "address of the buffer, 0 before the first `buffer()`",
	"Free":       "out: permits that a `peek` found free",
	"Now":        "in: a mark in nanoseconds",
	"Span":       "in: a duration in nanoseconds",
	"Wake":       "out: the mark at which there is next something to do; the greatest i64 for none",
	"WakeMillis": "out: the same in milliseconds, rounded up; infinity for none",
	"Slot":       "out: the call that began",
	"Generation": "out: likewise",
	"Reason":     "out: of a cell's refusal, of a retry that gives up",
	"Timeless":   "out: 1 where the breaker's next `acquire`, and a success that ends it, need no time: pass NaN; 2 where the `acquire` alone needs none",
	"Millis":     "out: until the turn of the waiter, until a refused call would not be refused, until the next attempt; -1 where it is not known",
	"Permit":     "out with an admission, in with what ends it: 24 bytes",
	"Mode":       "out: of a breaker",
	"Attempt":    "in: attempts that have started, for `next`",
	"Before":     "in and out: the delay before, for `next`; 0 at first",
	"Keys":       "in: the number of the key of each step of the plan, see [Keys](#keys)",
	"Began":      "in: the mark in milliseconds at which the call began, for `next` of a retry with a longest time",
	"Priced":     "in: a bit for each step whose cost in `costs` holds for the next `begin`. Cleared when used",
	"Spent":      "in: 1: `used` holds for the next `done`. Cleared when used",
	"Used":       "in: what the attempt has used, see [Costs](#costs)",
	"Costs":      "in: the cost of the call at each step whose cost an attribute has, see [Costs](#costs)",
	"Applies":    "in: the steps that do not apply to the call, a bit each, and from bit 16 on those that enforce nothing for it, see [Conditions](#conditions)",
	"Decides":    fmt.Sprintf("in: the steps for which an attribute decides whether they enforce; then bits: %d both slots hold for the next `begin`, %d the call is denied, %d the call is allowed. Cleared when used", abi.ConditionsHold, abi.ConditionsDenied, abi.ConditionsAllowed),
	"Step":       "out: the index of the step of a plan that `compile` refuses, 4294967295 for none; of the timeout beside [kept places](#kept-places)",
}

// decisionTexts says what the fields of a decision are.
var decisionTexts = map[string]string{
	"At":         "mark",
	"Value":      "the mark of `until` (wait, retry, inject without an outcome), the nanoseconds of `retry_after` (reject, inject with an outcome), the attempt that won (end), the permits that were dropped (clamped), or the new mode (change)",
	"Millis":     "`value` in milliseconds, rounded up",
	"Slot":       "the call; of a change the number of the key",
	"Generation": "likewise; of a change 0",
	"Attempt":    "its number in the call",
	"Event":      "index of the event in a batch",
	"Kind":       "[kind](#numbers)",
	"Outcome":    "[outcome](#numbers)",
	"Reason":     "[reason](#numbers)",
	"Step":       "index of the step in the call's plan; " + fmt.Sprintf("%d: the call's own deadline, %d: the calls that the policy denies, %d: none", abi.Deadline, abi.Denied, abi.NoStep),
	"Flags":      fmt.Sprintf("bits: %d shadow, %d fallback, %d last of the call, %d `value` holds, %d held: the attempt does not call the dependency yet", abi.Shadow, abi.Fallback, abi.Last, abi.HasValue, abi.Held),
	"Policy":     "of a change: which of the joined pipelines has the step, from 0 in the order in which they were made",
}

// otherTexts says what the fields of an effect of a cell on others are.
var otherTexts = map[string]string{
	"Permit": "the permit",
	"Caller": "as `acquire` named it",
	"Kind":   "[effect](#numbers); of a change the permit's id is the new mode",
	"Reason": "[reason](#numbers)",
}

// typeName returns the name of a type in the page.
func typeName(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[reducer.Permit]():
		var parts []string
		for i := range t.NumField() {
			parts = append(parts, typeName(t.Field(i).Type))
		}
		return strings.Join(parts, ", ")
	case t.Kind() == reflect.Array:
		return fmt.Sprintf("%d × %s", t.Len(), typeName(t.Elem()))
	}
	letter := map[reflect.Kind]string{reflect.Float64: "f", reflect.Int64: "i"}[t.Kind()]
	if letter == "" {
		letter = "u"
	}
	return fmt.Sprint(letter, 8*t.Size())
}

// layoutTable returns a table of the fields of a struct.
func layoutTable(t reflect.Type, texts map[string]string) string {
	var b strings.Builder
	b.WriteString("| offset | type | name | |\n|---|---|---|---|\n")
	for i := range t.NumField() {
		if f := t.Field(i); f.Name != "_" {
			fmt.Fprintf(&b, "| %d | %s | `%s` | %s |\n", f.Offset, typeName(f.Type), strings.ToLower(upper(f.Name)), texts[f.Name])
		}
	}
	return b.String()
}

func slotsTable() string    { return layoutTable(reflect.TypeFor[abi.Slots](), slotTexts) }
func decisionTable() string { return layoutTable(reflect.TypeFor[abi.Decision](), decisionTexts) }
func otherTable() string    { return layoutTable(reflect.TypeFor[abi.Other](), otherTexts) }

// errorsTable returns the table of the codes of errors.
func errorsTable() string {
	texts := map[string]string{
		"ERROR_HANDLE":   "no such object, or one of another kind",
		"ERROR_POLICY":   "the document, the plan or the settings are wrong",
		"ERROR_SIZE":     "more bytes than the buffer has or can have; too many objects",
		"ERROR_ARGUMENT": "a number is none of those that are allowed",
		"ERROR_BYTES":    "the bytes are no plan, settings, state, action or event",
		"ERROR_MEMORY":   "the [memory](#memory) has reached its limit",
		"STALE":          "stale: the call is over, unknown or not running. Not an error of the host; it has no text",
	}
	var b strings.Builder
	b.WriteString("| code | |\n|---|---|\n")
	for _, c := range errorCodes() {
		fmt.Fprintf(&b, "| %d | %s |\n", c.value, texts[c.name])
	}
	return b.String()
}
