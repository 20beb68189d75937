package calendar

import "strconv"

// ZoneText is what every error about a zone allows.
const ZoneText = "UTC, an offset as in +02:00, or a rule of POSIX as in CET-1CEST,M3.5.0,M10.5.0/3"

// ParseZone reads a zone: UTC, an offset as in +02:00, east positive, or a TZ of POSIX
// whose changes have the form Mm.w.d, as the last line of a file of the tz database has
// it. Names of POSIX have no meaning and are forgotten. It returns false for any other
// text.
func ParseZone(text string) (z Zone, ok bool) {
	if text == "UTC" {
		return z, true
	}
	p := parser{rest: text}
	if sign := p.sign(); sign != 0 {
		hours, minutes := p.digits(2, 2), 0
		if p.take(':') {
			minutes = p.digits(2, 2)
		} else {
			p.bad = true
		}
		z.Offset = sign * int32(hours*3600+minutes*60)
		return z, p.done() && minutes < 60 && z.Valid()
	}
	p.name()
	z.Offset = -p.time(24)
	if p.rest == "" {
		return z, p.done() && z.Valid()
	}
	p.name()
	z.Summer = z.Offset + 3600
	if p.rest != "" && p.rest[0] != ',' {
		z.Summer = -p.time(24)
	}
	z.Begins, z.Ends = p.change(), p.change()
	return z, p.done() && z.Valid()
}

// String returns the text that ParseZone reads as the same zone.
func (z Zone) String() string {
	switch {
	case z == Zone{}:
		return "UTC"
	case !z.Changes() && z.Offset%60 == 0:
		return string(appendOffset(nil, z.Offset, ':'))
	}
	dst := appendName(nil, z.Offset)
	if !z.Changes() {
		return string(dst)
	}
	if z.Summer == z.Offset+3600 {
		dst = appendQuoted(dst, z.Summer)
	} else {
		dst = appendName(dst, z.Summer)
	}
	return string(z.Ends.append(z.Begins.append(dst)))
}

// parser reads a text from its beginning. After the first thing that it cannot read it is
// bad.
type parser struct {
	rest string
	bad  bool
}

func (p *parser) done() bool { return !p.bad && p.rest == "" }

func (p *parser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// sign returns 1 or -1 for a sign, 0 for none.
func (p *parser) sign() int32 {
	switch {
	case p.take('+'):
		return 1
	case p.take('-'):
		return -1
	}
	return 0
}

// digits reads a number of so many digits.
func (p *parser) digits(least, most int) (n int) {
	i := 0
	for i < len(p.rest) && i < most && p.rest[i] >= '0' && p.rest[i] <= '9' {
		n = n*10 + int(p.rest[i]-'0')
		i++
	}
	p.bad = p.bad || i < least
	p.rest = p.rest[i:]
	return n
}

// name reads a name of POSIX: three letters or more, or such letters, digits and signs in
// angle brackets.
func (p *parser) name() {
	quoted := p.take('<')
	n := 0
	for n < len(p.rest) && inName(p.rest[n], quoted) {
		n++
	}
	p.bad = p.bad || n < 3
	if p.rest = p.rest[n:]; quoted && !p.take('>') {
		p.bad = true
	}
}

func inName(c byte, quoted bool) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || quoted && (c >= '0' && c <= '9' || c == '+' || c == '-')
}

// time reads hours, and minutes and seconds where they are there, in seconds.
func (p *parser) time(hours int) int32 {
	sign := p.sign()
	if sign == 0 {
		sign = 1
	}
	most := len(strconv.Itoa(hours))
	h, m, s := p.digits(1, most), 0, 0
	if p.take(':') {
		if m = p.digits(2, 2); p.take(':') {
			s = p.digits(2, 2)
		}
	}
	p.bad = p.bad || h > hours || m > 59 || s > 59
	return sign * int32(h*3600+m*60+s)
}

// change reads a comma and a change as in ",M3.5.0/2".
func (p *parser) change() Change {
	p.bad = p.bad || !p.take(',') || !p.take('M')
	month := p.digits(1, 2)
	p.bad = p.bad || !p.take('.')
	week := p.digits(1, 1)
	p.bad = p.bad || !p.take('.')
	c := Change{Month: uint8(month), Week: uint8(week), Day: uint8(p.digits(1, 1)), Time: usual}
	if p.take('/') {
		c.Time = p.time(167)
	}
	p.bad = p.bad || c.Month == 0
	return c
}

// usual is the time of a change that states none.
const usual = 2 * 60 * 60

func (c *Change) append(dst []byte) []byte {
	dst = strconv.AppendUint(append(dst, ",M"...), uint64(c.Month), 10)
	dst = strconv.AppendUint(append(dst, '.'), uint64(c.Week), 10)
	dst = strconv.AppendUint(append(dst, '.'), uint64(c.Day), 10)
	if c.Time != usual {
		dst = appendTime(append(dst, '/'), c.Time)
	}
	return dst
}

// appendName appends a name and what POSIX has behind it, the time west of UTC.
func appendName(dst []byte, offset int32) []byte {
	return appendTime(appendQuoted(dst, offset), -offset)
}

// appendQuoted appends the offset as a name.
func appendQuoted(dst []byte, offset int32) []byte {
	return append(appendOffset(append(dst, '<'), offset, 0), '>')
}

// appendOffset appends an offset as in +02:00; without a colon minutes of 0 are left out.
func appendOffset(dst []byte, offset int32, colon byte) []byte {
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = append(dst, sign)
	dst = appendTwo(dst, offset/3600)
	if colon != 0 {
		dst = append(dst, colon)
	} else if offset/60%60 == 0 {
		return dst
	}
	return appendTwo(dst, offset/60%60)
}

// appendTime appends a time as in -1, 3:30 or 0:00:30.
func appendTime(dst []byte, t int32) []byte {
	if t < 0 {
		dst, t = append(dst, '-'), -t
	}
	dst = strconv.AppendUint(dst, uint64(t/3600), 10)
	if t%3600 == 0 {
		return dst
	}
	dst = appendTwo(append(dst, ':'), t/60%60)
	if t%60 == 0 {
		return dst
	}
	return appendTwo(append(dst, ':'), t%60)
}

func appendTwo(dst []byte, n int32) []byte {
	if n < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, uint64(n), 10)
}
