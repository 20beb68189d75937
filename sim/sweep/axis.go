package sweep

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxValues is the most values of an axis.
const MaxValues = 1000

// Axis is a setting and the values that it takes.
type Axis struct {
	// Path of the setting, see package edit.
	Path   string
	Values []string
}

// ParseAxis reads PATH=VALUES. Values are separated by commas, as in 1,2,5 or 10/s,20/s,
// or a range of numbers with a common unit: 10..50/s by 10, or with a factor, 1..64 x 2;
// without either a range has 10 values at equal distances, rounded to whole numbers
// between whole ends, and fewer where there are not so many.
func ParseAxis(text string) (Axis, error) {
	path, values, ok := strings.Cut(text, "=")
	a := Axis{Path: strings.TrimSpace(path)}
	values = strings.TrimSpace(values)
	if !ok || a.Path == "" || values == "" {
		return a, fmt.Errorf("found %q; allowed: PATH=VALUES, as in services.api.servers=1,2,4 or clients.web.arrivals.poisson=50..400/s by 50", text)
	}
	if from, rest, ranged := strings.Cut(values, ".."); ranged {
		var err error
		if a.Values, err = span(strings.TrimSpace(from), strings.TrimSpace(rest)); err != nil {
			return a, fmt.Errorf("%s: %w", a.Path, err)
		}
		return a, nil
	}
	for _, value := range cut(values) {
		a.Values = append(a.Values, strings.TrimSpace(value))
	}
	if len(a.Values) > MaxValues {
		return a, fmt.Errorf("%s: found %d values; allowed: at most %d", a.Path, len(a.Values), MaxValues)
	}
	return a, nil
}

// cut cuts at the commas that are in no bracket.
func cut(text string) (parts []string) {
	depth, begin := 0, 0
	for i, r := range text {
		switch r {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, text[begin:i])
				begin = i + 1
			}
		}
	}
	return append(parts, text[begin:])
}

// span returns the values of a range.
func span(first, rest string) ([]string, error) {
	wrong := fmt.Errorf("found the range %s..%s; allowed: as in 1..10, 10..50/s by 10, 1..64 x 2 or 100ms..500ms by 50ms", first, rest)
	last, step, grow := rest, "", false
	if before, by, ok := strings.Cut(rest, " by "); ok {
		last, step = strings.TrimSpace(before), strings.TrimSpace(by)
	} else if before, by, ok := strings.Cut(rest, " x "); ok {
		last, step, grow = strings.TrimSpace(before), strings.TrimSpace(by), true
	}
	if values := times(first, last, step); values != nil && !grow {
		return values, nil
	}
	from, unit, ok := number(first)
	to, behind, also := number(last)
	if unit == "" {
		unit = behind
	}
	if !ok || !also || behind != unit || to < from {
		return nil, wrong
	}
	// Most settings are whole numbers, so whole ends have whole numbers between them.
	whole := step == "" && from == math.Trunc(from) && to == math.Trunc(to)
	by := (to - from) / 9
	if whole {
		by = max(by, 1)
	}
	if step != "" {
		var its string
		if by, its, ok = number(step); !ok || its != "" && its != unit || grow && (its != "" || by <= 1 || from <= 0) || !grow && by <= 0 {
			return nil, wrong
		}
	}
	var values []string
	for i := 0; len(values) < MaxValues; i++ {
		x := from + float64(by*float64(i))
		if grow {
			x = from * math.Pow(by, float64(i))
		}
		// The last value of a step like 0.1 is not missed by rounding.
		if x > to+float64(math.Abs(to)*1e-9) || i > 0 && by == 0 {
			break
		}
		if whole {
			x = math.Round(x)
		}
		values = append(values, strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64)+unit)
	}
	return values, nil
}

// times returns the values of a range of durations of several units, as in 200ms..2s by
// 100ms; nil where it is none.
func times(first, last, step string) (values []string) {
	from, fromErr := time.ParseDuration(first)
	to, toErr := time.ParseDuration(last)
	by, byErr := time.ParseDuration(step)
	if fromErr != nil || toErr != nil || byErr != nil || by <= 0 || to < from {
		return nil
	}
	for d := from; d <= to && len(values) < MaxValues; d += by {
		values = append(values, d.String())
	}
	return values
}

// number cuts a number from the unit behind it.
func number(text string) (x float64, unit string, ok bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	x, err := strconv.ParseFloat(text[:end], 64)
	return x, text[end:], err == nil
}
