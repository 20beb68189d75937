package calendar

import "github.com/sluice-go/sluice/core/planwire"

// Plan codes a rate by the calendar for plan bytes, under the names of the settings of its
// rate and its zone: the unit, the zone, and the wall time of mark 0. That time is the last
// value, so that a writer who knows no clock can leave it to one who does.
func Plan(c *Config, v *planwire.Coder, rate, zone string) {
	if v.Word(rate, (*uint8)(&c.Unit)); c.Unit == NoUnit {
		v.Refuse(rate)
	}
	packed := c.Zone.Pack()
	for i := range packed {
		v.Count(zone, &packed[i])
	}
	c.Zone = Unpack(packed)
	v.Duration(rate, &c.Epoch)
}
