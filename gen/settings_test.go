package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/core/timeout"
)

// TestWrongEntries: an entry that does not fit its configuration is an error that names it.
func TestWrongEntries(t *testing.T) {
	after := mechanism.Doc{Name: "after", Is: mechanism.Setting{Type: mechanism.Duration}, Field: "After"}
	for want, docs := range map[string]mechanism.Docs{
		"after: timeout.Config has no field Afte": {Settings: []mechanism.Doc{{Name: "after", Is: after.Is, Field: "Afte"}}},
		"after: it has no Field":                  {Settings: []mechanism.Doc{{Name: "after", Is: after.Is}}},
		"after: it has more fields than 1":        {Settings: []mechanism.Doc{{Name: "after", Is: after.Is, Field: "After,Soft"}}},
		"ramp.over: it is not behind its whole":   {Settings: []mechanism.Doc{{Name: "ramp.over", Is: after.Is, Field: "After"}}},
		"after: no form of type 200":              {Settings: []mechanism.Doc{{Name: "after", Is: mechanism.Setting{Type: 200}}}},
		"a relation of soft, which is no setting": {Settings: []mechanism.Doc{after}, Relations: []mechanism.Relation{{Setting: "soft", Than: "after"}}},
		"a relation of after to 1s: New does not compare it; it is a range, or ByHand": {
			Settings: []mechanism.Doc{after}, Relations: []mechanism.Relation{{Setting: "after", Op: mechanism.AtMost, Than: "1s"}},
		},
		"a relation of after: \"sof\" is no setting or value": {Settings: []mechanism.Doc{after}, Relations: []mechanism.Relation{{Setting: "after", Than: "sof"}}},
	} {
		_, err := newSource(&docs, timeout.Config{})
		assert.EqualError(t, err, want)
	}
}

// TestRelations: settings that relations connect are compared together, and the first relation that
// does not hold is the error.
func TestRelations(t *testing.T) {
	count := mechanism.Setting{Type: mechanism.Duration}
	docs := mechanism.Docs{
		Settings: []mechanism.Doc{{Name: "after", Is: count, Field: "After"}, {Name: "soft", Is: count, Field: "Soft"}},
		Relations: []mechanism.Relation{
			{Setting: "soft", Op: mechanism.Below, Than: "after", Says: "less than after, #"},
			{Setting: "soft", Op: mechanism.AtLeast, Than: "after", Says: "at least after, #", Aside: true},
			{Setting: "soft", Op: mechanism.AtMost, Than: "1s", Says: "at most 1s", Document: true},
		},
	}
	s, err := newSource(&docs, timeout.Config{})
	require.NoError(t, err)
	assert.Equal(t, "if g.Whole(\"soft\") && uint64(c.Soft) > 1000000000 {\ng.Wrong(\"soft\", \"at most 1s\")\n}\n", s.comparisons(true, true))
	assert.Empty(t, s.comparisons(false, true), "0 has another meaning in a configuration")
	assert.Equal(t, "switch {\ncase c.Soft >= c.After:\ne.Duration(true, \"soft\", c.Soft, \"less than after\")\n"+
		"case c.Soft != 0 && c.Soft < c.After:\ne.Duration(true, \"soft\", c.Soft, \"at least after\")\n}\n", s.comparisons(false, false))
	assert.Contains(t, s.comparisons(true, false), "case g.Whole(\"soft\") && c.Soft < c.After:\n")
}
