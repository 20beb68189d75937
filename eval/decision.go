package eval

import (
	"strconv"

	"github.com/sluice-go/sluice/core/decision"
)

// write writes the decisions of the event.
func (r *run) write() error {
	list := r.decider.Decisions()
	r.text = r.text[:0]
	for i := range list {
		d := &list[i]
		id := ""
		switch {
		case d.Kind != decision.Configured:
			id = r.ids[d.Call.Slot()]
		case r.names != nil:
			id = strconv.Quote(r.names[d.Policy])
		}
		r.text = decision.AppendLine(r.text, id, d)
		if d.Last {
			delete(r.live, r.ids[d.Call.Slot()])
		}
	}
	clear(list)
	_, err := r.out.Write(r.text)
	return err
}

func (r *run) stale(id string) error {
	r.text = decision.AppendHead(r.text[:0], r.now, id, "stale")
	r.text = append(r.text, '}', '\n')
	_, err := r.out.Write(r.text)
	return err
}
