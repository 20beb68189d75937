package guards

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads Retry-After (RFC 9110 section 10.2.3): seconds, or a date, which counts
// from the Date of the answer where it has one, so that clocks need not agree. What cannot
// be read is none.
func RetryAfter(text, date string, now func() time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, false
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		const most = int64(1<<63-1) / int64(time.Second)
		if err != nil || seconds > most {
			seconds = most // more digits than that are a long time all the same
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	from, err := http.ParseTime(date)
	if err != nil {
		from = now()
	}
	return max(0, at.Sub(from)), true
}
