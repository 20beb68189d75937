package calendar

// Packed is a zone as numbers that are not negative: the offset, the offset of the summer
// time, and of each of its changes the day and the time. Seconds are Bias more than they
// are; a day is month x 64 + week x 8 + day of the week, 0 for no change.
type Packed [6]uint32

// Bias is what packed seconds are more than the seconds.
const Bias = 1 << 20

// Pack returns the zone as numbers.
func (z *Zone) Pack() Packed {
	return Packed{
		uint32(z.Offset + Bias), uint32(z.Summer + Bias),
		z.Begins.day(), uint32(z.Begins.Time + Bias), z.Ends.day(), uint32(z.Ends.Time + Bias),
	}
}

// Unpack returns the zone of numbers. It is not Valid where the numbers are of none.
func Unpack(p Packed) Zone {
	return Zone{
		Offset: int32(p[0] - Bias), Summer: int32(p[1] - Bias),
		Begins: unpacked(p[2], p[3]), Ends: unpacked(p[4], p[5]),
	}
}

func (c *Change) day() uint32 { return uint32(c.Month)<<6 | uint32(c.Week)<<3 | uint32(c.Day) }

func unpacked(day, time uint32) Change {
	return Change{Month: uint8(min(day>>6, 255)), Week: uint8(day >> 3 & 7), Day: uint8(day & 7), Time: int32(time - Bias)}
}
