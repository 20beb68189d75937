package document

import (
	"github.com/sluice-go/sluice/core/mechanism"
	"github.com/sluice-go/sluice/policy/tree"
)

const (
	// attributeText is what every error about the attribute of a cost allows.
	attributeText = "header:NAME, cookie:NAME or query:NAME"
	// costText is likewise for a cost.
	costText = "a whole number of permits, " + attributeText + ", or {attribute: NAME, default: n}"
)

// cost reads how many permits a call takes: a number, an attribute, whose default is 1,
// or a map of both. It returns whether it is whole.
func (r *reader) cost(n *tree.Node, part *mechanism.Setting, into mechanism.CostField) (whole bool) {
	switch n.Kind {
	case tree.Number:
		return r.asInteger(n, int(part.Least), int(part.Most), into.Permits)
	case tree.Text:
		*into.Permits = 1
		*into.Attribute, whole = r.attribute(n, "", costText)
		return whole
	}
	var f fields
	if !f.read(r, n, costText, "attribute default") {
		return false
	}
	*into.Permits = 1
	ok := true
	if e := f.get("default"); e != nil {
		ok = r.asInteger(e, 0, int(part.Most), into.Permits)
	}
	if e := f.need("attribute", attributeText); e != nil {
		*into.Attribute, whole = r.attribute(e, "", attributeText)
	}
	return whole && ok
}
