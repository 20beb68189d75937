// Package leaf does everything that a pure package may do.
package leaf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.test/clean/clock"
	"example.test/clean/reducer"
)

var (
	ErrFull  = errors.New("full")
	errShort = errors.Join(ErrFull, errors.New("short"))
)

var names = [...]string{"a", "b", strings.Repeat("c", 2)}

var powers = []uint64{1, 10, 100}

var rows = []struct {
	name string
	ids  []int
}{{"x", []int{1}}}

var kinds = map[string]int{"a": 1}

var magic = []byte("sluice")

var _ reducer.Machine[State, int] = Machine{}

type State struct {
	TAT  clock.Mark
	Rate float64
}

type Machine struct{ Gap time.Duration }

func (m Machine) Reduce(s State, a int, now clock.Mark) State {
	if now == clock.Never {
		return s
	}
	s.TAT = max(s.TAT, now).Add(m.Gap * time.Duration(a))
	s.Rate = float64(s.Rate*0.5) + float64(float64(a)*0.5*s.Rate)
	if s.Rate*2 > 1 {
		s.Rate = s.Rate/2 + 1
	}
	return s
}

func (s State) Append(dst []byte) []byte {
	dst = append(dst, magic...)
	return binary.LittleEndian.AppendUint64(dst, uint64(s.TAT))
}

func (s State) String() string {
	n := int64(s.TAT)*2 + 1
	return names[int(n)%len(names)] + " " + strconv.FormatInt(n, 10) + " " + time.Duration(n).String()
}

func Find(x uint64, name string) (int, error) {
	for i, power := range powers[:2] {
		if cmp.Compare(power, x) == 0 {
			return i, nil
		}
	}
	for i := range rows {
		if len(rows[i].ids) > 0 && rows[i].ids[0] == int(x) && rows[i].name == name {
			return i, nil
		}
	}
	if i, ok := slices.BinarySearch(powers, x); ok {
		return i, nil
	}
	if kind, ok := kinds[name]; ok {
		return kind, nil
	}
	return bits.Len64(x), errShort
}
