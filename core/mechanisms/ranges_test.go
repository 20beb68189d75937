package mechanisms_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/reducer"
)

// TestRanges: a mechanism refuses each value out of the range of its row, and names the setting.
func TestRanges(t *testing.T) {
	checked := 0
	for k := mechanism.Kind(1); int(k) < mechanism.Kinds; k++ {
		docs := mechanisms.Docs(k)
		for _, example := range docs.Examples {
			p, err := policy.ParseOne("example.json", []byte(`{"steps":[{"`+k.String()+`":`+example+`}]}`))
			if err != nil {
				t.Fatal(err)
			}
			for i := range docs.Settings {
				d := &docs.Settings[i]
				draft := docs.Draft(p.Steps[0].Config)
				if !beyond(&d.Is, draft, d.Name) {
					continue
				}
				checked++
				_, err := mechanisms.Compile(draft.Config())
				if err == nil || !strings.Contains("\n"+err.Error(), "\n"+d.Name+": found ") {
					t.Errorf("%s %s: a value out of the range of %s: %v", k, example, d.Name, err)
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("%d values", checked)
	}
}

// beyond sets a value that is out of the range of a setting, and returns false for a type without one.
// The variants of a OneOf share fields, and are not set.
func beyond(s *mechanism.Setting, draft mechanism.Draft, name string) bool {
	whole, _, _ := strings.Cut(name, ".")
	if s.Type == mechanism.Map || s.Type.Fieldless() || whole == "window" {
		return false
	}
	switch f := draft.Field(name).(type) {
	case *time.Duration:
		*f = -1
	case *uint32:
		*f = s.Most + 1
	case *reducer.Share:
		*f = reducer.Millionths(reducer.Whole + 1)
	case *uint8:
		*f = uint8(len(strings.Fields(s.Words)))
	default:
		return false
	}
	return true
}
