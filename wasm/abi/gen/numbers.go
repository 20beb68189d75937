package main

import (
	"fmt"
	"strings"

	"github.com/sluice-go/sluice/core/breaker"
	"github.com/sluice-go/sluice/core/decision"
	"github.com/sluice-go/sluice/core/limiter"
	"github.com/sluice-go/sluice/reducer"
	"github.com/sluice-go/sluice/wasm/abi"
	"github.com/sluice-go/sluice/wasm/abi/simulation"
)

// group is an enumeration of the ABI.
type group struct {
	title  string // in ABI.md
	prefix string // of constants in abi.ts
	list   string // the name of the words by number in abi.ts, "" for none
	doc    string
	words  []string // by number; "" for a number without a meaning
}

// wordsOf returns the names of an enumeration by number, from 0 to the last
// that has one.
func wordsOf[T ~uint8](name func(T) string) (words []string) {
	for n := range 256 {
		word := name(T(n))
		if word == "unknown" || word != "" && word[0] <= '9' {
			word = ""
		}
		words = append(words, word)
	}
	for words[len(words)-1] == "" {
		words = words[:len(words)-1]
	}
	return words
}

func groups() []group {
	return []group{
		// The npm package has no set of policies, so it has none of its kinds.
		{"kinds of decisions", "DECISION", "KINDS", "What a pipeline decided.", wordsOf(decision.Kind.String)[:decision.Added]},
		{"outcomes", "OUTCOME", "OUTCOMES", "How an attempt or a call ended.", wordsOf(reducer.Outcome.String)},
		{"reasons", "REASON", "REASONS", "Why a permit was refused, a wait ended, or a retry gave up.", wordsOf(reducer.Reason.String)},
		{"verdicts", "VERDICT", "", "What a cell answers.", wordsOf(reducer.Verdict.String)},
		{"actions", "ACTION", "", "Actions on cells.", wordsOf(reducer.Kind.String)},
		{"effects on others", "EFFECT", "", "What a step does to others than its caller.", wordsOf(reducer.EffectKind.String)},
		{"modes of a breaker", "MODE", "MODES", "Modes of a breaker.", wordsOf(breaker.Mode.String)},
		{"algorithms of a limiter", "ALGORITHM", "ALGORITHMS", "Algorithms of a limiter.", wordsOf(limiter.Algorithm.String)},
	}
}

// constant is a number with a name of its own.
type constant struct {
	name  string
	value int64
	doc   string
}

func errorCodes() []constant {
	return []constant{
		{"ERROR_HANDLE", int64(abi.BadHandle), ""},
		{"ERROR_POLICY", int64(abi.BadPolicy), ""},
		{"ERROR_SIZE", int64(abi.BadSize), ""},
		{"ERROR_ARGUMENT", int64(abi.BadArgument), ""},
		{"ERROR_BYTES", int64(abi.BadBytes), ""},
		{"ERROR_MEMORY", int64(abi.NoMemory), ""},
		{"STALE", int64(abi.Stale), "The call is over, unknown or not running."},
	}
}

func limits() []constant {
	return []constant{
		{"ABI", abi.Version, "The version of the ABI."},
		{"MAX_KEY", abi.MaxKey, "The greatest number of a key."},
		{"KEY_MISSING", abi.KeyMissing, "Added to the number of a key where the call brings no value for one of the attributes."},
		{"MAX_BUFFER", abi.MaxBuffer, "The most bytes that the buffer holds."},
	}
}

func bits() []constant {
	return []constant{
		{"EXACT_NOW", abi.ExactNow, "The bits of the slot EXACT."},
		{"EXACT_SPAN", abi.ExactSpan, ""},
		{"BEGIN_NO_HEDGE", abi.BeginNoHedge, "The bits of the flags of a call."},
		{"DONE_KEEPS", abi.DoneKeeps, "The bit of an outcome with which a call keeps its places beyond its end."},
		{"FLAG_SHADOW", abi.Shadow, "The bits of the flags of a decision."},
		{"FLAG_FALLBACK", abi.Fallback, ""},
		{"FLAG_LAST", abi.Last, ""},
		{"FLAG_VALUE", abi.HasValue, ""},
		{"FLAG_HELD", abi.Held, ""},
		{"STEP_DEADLINE", abi.Deadline, "The index of the step of a decision by the deadline of the call."},
		{"STEP_DENIED", abi.Denied, "The index of the step of a decision that the policy denies the call."},
		{"CONDITIONS_HOLD", abi.ConditionsHold, "The bits of the slot DECIDES above the bits of the steps."},
		{"CONDITIONS_DENIED", abi.ConditionsDenied, ""},
		{"CONDITIONS_ALLOWED", abi.ConditionsAllowed, ""},
		{"STEP_NONE", abi.NoStep, "The index of the step of a decision that no step makes."},
		{"SIMULATE_SEED", simulation.FlagSeed, "The bits of the flags of a simulation."},
		{"SIMULATE_LOG", simulation.FlagLog, ""},
		{"SIMULATE_EVENTS", simulation.FlagEvents, ""},
		{"SIMULATE_MARKS", simulation.FlagMarks, ""},
		{"OUTPUT_LOG", simulation.OutputLog, "The outputs of a simulation."},
		{"OUTPUT_EVENTS", simulation.OutputEvents, ""},
		{"OUTPUT_MARKS", simulation.OutputMarks, ""},
		{"OUTPUT_NAMES", simulation.OutputNames, ""},
		{"MARK_SIZE", simulation.MarkSize, "The size of a mark in bytes."},
		{"MARK_CALL", simulation.MarkCall, "The kinds of marks."},
		{"MARK_ARRIVAL", simulation.MarkArrival, ""},
		{"MARK_OK", simulation.MarkOK, ""},
		{"MARK_CHANGE", simulation.MarkChange, ""},
		{"MARK_FAULT", simulation.MarkFault, ""},
		{"OVER", simulation.Over, "What `run` returns at the end of a scenario."},
	}
}

// pagePath is the page about the ABI.
const pagePath = "wasm/ABI.md"

// section is a generated part of a page.
type section struct {
	name string
	text func() string
}

// pageSections are the generated parts by page.
var pageSections = []struct {
	path     string
	sections []section
}{
	{pagePath, []section{
		{"slots", slotsTable}, {"errors", errorsTable}, {"decisions", decisionTable},
		{"others", otherTable}, {"numbers", numbersTable},
	}},
	{plansPath, []section{{"plans", planTables}}},
}

// pageWith returns a page with the present text of its generated sections.
func pageWith(page []byte, path string, sections []section) ([]byte, error) {
	text := string(page)
	for _, s := range sections {
		opens, closes := "<!-- "+s.name+": go generate ./wasm/abi -->\n", "<!-- end of "+s.name+" -->\n"
		head, rest, ok := strings.Cut(text, opens)
		if !ok {
			return nil, fmt.Errorf("%s has no line %q", path, opens)
		}
		_, tail, ok := strings.Cut(rest, closes)
		if !ok {
			return nil, fmt.Errorf("%s has no line %q", path, closes)
		}
		text = head + opens + s.text() + closes + tail
	}
	return []byte(text), nil
}

// numbersTable returns the table of enumerations.
func numbersTable() string {
	var table strings.Builder
	table.WriteString("| | |\n|---|---|\n")
	for _, g := range groups() {
		var named []string
		for n, word := range g.words {
			if word == "" && g.title == "reasons" {
				word = "none"
			}
			if word != "" {
				named = append(named, fmt.Sprint(n, " ", word))
			}
		}
		fmt.Fprintf(&table, "| %s | %s |\n", g.title, strings.Join(named, ", "))
	}
	return table.String()
}
