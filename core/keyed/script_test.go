package keyed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sluice-go/sluice/core/keyed"
)

// script holds a table, and a cell for each index: the key that it was made for.
type script struct {
	table   *keyed.Table
	cells   []string
	handles map[string]keyed.Handle
}

// TestScripts runs testdata. The files are the readable documentation of the
// table; -rewrite renews them.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &script{handles: map[string]keyed.Handle{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for _, key := range s.keys(t, d, &out) {
				fmt.Fprintf(&out, "%s: %s\n", key, s.step(d.Cmd, key))
			}
			if s.table != nil {
				out.WriteString(s.state())
			}
			return out.String()
		})
	})
}

// keys does what a command does to the table as a whole, and returns the keys that
// it names.
func (s *script) keys(t *testing.T, d *datadriven.TestData, out *strings.Builder) (keys []string) {
	if d.Cmd != "new" && d.Cmd != "configure" {
		for _, a := range d.CmdArgs {
			keys = append(keys, a.Key)
		}
		return keys
	}
	var c keyed.Config
	d.ScanArgs(t, "keys", &c.Keys)
	c.Loose = d.HasArg("loose")
	if d.HasArg("share") {
		c.WhenFull = keyed.FullShare
	}
	if d.Cmd == "new" {
		table, err := keyed.New(c)
		if err != nil {
			fmt.Fprintln(out, err)
			return nil
		}
		s.table, s.cells = table, []string{"spare"}
		return nil
	}
	if err := s.table.Configure(c); err != nil {
		fmt.Fprintln(out, err)
		return nil
	}
	for {
		gone, last, ok := s.table.Trim()
		if !ok {
			return nil
		}
		fmt.Fprintf(out, "evicts %s\n", s.cells[gone])
		s.move(gone, last)
	}
}

func (s *script) move(index, last uint32) {
	s.cells[index] = s.cells[last]
	s.cells = s.cells[:last]
}

// hash makes keys of one letter collide in all but a few bits.
func hash(key string) keyed.Hash { return keyed.Hash{Lo: uint64(key[0])} }

func (s *script) step(cmd, key string) string {
	if cmd == "use" {
		return s.use(key)
	}
	if cmd == "resolve" {
		if index, ok := s.table.Resolve(s.handles[key]); ok {
			return "cell of " + s.cells[index]
		}
		return "no cell"
	}
	index, ok := s.table.Find(hash(key))
	if !ok {
		return "unknown"
	}
	switch cmd {
	case "refresh":
		s.table.Refresh(hash(key))
	case "pin":
		s.table.Pin(index)
	case "unpin":
		s.table.Unpin(index)
	case "hold", "release":
		s.table.SetHeld(index, cmd == "hold")
	case "handle":
		s.handles[key] = s.table.Handle(index)
	case "remove":
		s.move(index, s.table.Remove(index))
		return "removed"
	default:
		return "unknown command"
	}
	return "cell of " + s.cells[index]
}

func (s *script) use(key string) string {
	index, how := s.table.Use(hash(key))
	switch how {
	case keyed.Added:
		s.cells = append(s.cells, key)
		return "new cell"
	case keyed.Evicted:
		victim := s.cells[index]
		s.cells[index] = key
		return "evicts " + victim
	case keyed.Shared:
		return "shares the spare cell"
	}
	return "cell of " + s.cells[index]
}

// state prints the keys, the least recently used first; held ones in brackets.
func (s *script) state() string {
	var out strings.Builder
	for _, index := range s.table.ByUse(nil) {
		if s.table.Held(index) {
			fmt.Fprintf(&out, "[%s] ", s.cells[index])
		} else {
			fmt.Fprintf(&out, "%s ", s.cells[index])
		}
	}
	c := s.table.Counts()
	fmt.Fprintf(&out, "| keys %d, held %d, evictions %d, shared %d\n", c.Keys, c.Held, c.Evictions, c.Shared)
	return out.String()
}
