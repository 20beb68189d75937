package vectors

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/sluice-go/sluice/wasm/abi"
)

// Native returns an instance of the ABI in this process, compiled natively.
func Native() Instance { return &native{} }

type native struct{ m abi.Module }

func (n *native) Slots() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&n.m.Slots)), unsafe.Sizeof(n.m.Slots))
}

func (n *native) Buffer(size uint32) []byte { return n.m.Buffer[:size] }

func (n *native) Records(size uint32) []byte {
	if size == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&n.m.Decisions[0])), size)
}

func (n *native) Call(export string, p ...uint64) (int32, error) {
	u := func(i int) uint32 { return uint32(p[i]) }
	f := func(i int) float64 { return math.Float64frombits(p[i]) }
	switch m := &n.m; export {
	case "buffer":
		return m.Reserve(u(0)), nil
	case "body":
		return m.Body(u(0)), nil
	case "compile":
		return m.Compile(u(0)), nil
	case "describe":
		return m.Describe(u(0), u(1)), nil
	case "maker":
		return m.MakerOf(u(0), u(1)), nil
	case "reduce":
		return m.Reduce(u(0), u(1)), nil
	case "pipeline":
		return m.Pipeline(u(0), u(1), u(2)), nil
	case "join":
		return m.Join(u(0), u(1), u(2), u(3)), nil
	case "observe":
		return m.Observe(u(0), u(1)), nil
	case "free":
		return m.Free(u(0)), nil
	case "advance":
		return m.Advance(u(0), f(1)), nil
	case "begin":
		return m.Begin(u(0), u(1), u(2), f(3), f(4)), nil
	case "done":
		return m.Done(u(0), u(1), u(2), u(3), u(4), f(5), f(6)), nil
	case "cancel":
		return m.Cancel(u(0), u(1), u(2), f(3)), nil
	case "renew":
		return m.Renew(u(0), u(1), u(2), u(3), f(4)), nil
	case "configure":
		return m.Configure(u(0), u(1), f(2)), nil
	case "save":
		return m.Save(u(0), u(1), u(2)), nil
	}
	return 0, fmt.Errorf("no export %s", export)
}
