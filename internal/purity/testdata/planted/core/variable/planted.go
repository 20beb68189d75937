package variable

import "errors"

type counter struct{ n int }

func (c *counter) add() { c.n++ }

var (
	assigned  int
	added     int
	counted   int
	element   [2]int
	nested    struct{ rows [2][]int }
	table     = map[string]int{}
	taken     int
	sliced    [4]byte
	called    counter
	ranged    int
	returned  = []int{1}
	passed    = []int{1}
	inner     = [][]int{{1}}
	innerSeen = [][]int{{1}}
	pair, two = 1, 2

	pointer  = &counter{}           // want variable
	function = func() {}            // want variable
	anything any                    // want variable
	Exported = [...]int{1}          // want variable
	ErrLate  error                  // want variable
	ErrOther = errors.Unwrap(ErrOK) // want variable
	ErrOK    = errors.New("ok")
	ErrSet   = errors.New("set")
)

func Change() ([]int, []byte) {
	assigned = 1        // want variable
	added += 1          // want variable
	counted++           // want variable
	element[0] = 1      // want variable
	nested.rows[1][0]-- // want variable
	table["a"] = 1      // want variable
	p := &taken         // want variable
	*p = 1
	called.add()           // want variable
	for ranged = range 3 { // want variable
	}
	write(passed)               // want variable
	for _, row := range inner { // want variable
		row[0] = 1
	}
	row := innerSeen[0] // want variable
	row[0] = 1
	two, _ = 3, 4              // want variable
	ErrSet = nil               // want variable
	return returned, sliced[:] // want variable variable
}

func write(s []int) { s[0] = 1 }
