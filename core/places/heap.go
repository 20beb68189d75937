package places

// heap returns slots, the lowest first.
type heap []uint32

func (h *heap) push(v uint32) {
	*h = append(*h, v)
	all := *h
	at := len(all) - 1
	for at > 0 && all[(at-1)/2] > v {
		all[at] = all[(at-1)/2]
		at = (at - 1) / 2
	}
	all[at] = v
}

// pop takes the lowest slot out, 0 where there is none.
func (h *heap) pop() uint32 {
	all := *h
	if len(all) == 0 {
		return 0
	}
	lowest, last := all[0], all[len(all)-1]
	all = all[:len(all)-1]
	*h = all
	at := 0
	for child := 1; child < len(all); child = 2*at + 1 {
		if child+1 < len(all) && all[child+1] < all[child] {
			child++
		}
		if all[child] >= last {
			break
		}
		all[at] = all[child]
		at = child
	}
	if len(all) > 0 {
		all[at] = last
	}
	return lowest
}
