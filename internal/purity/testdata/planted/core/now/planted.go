package now

import "time"

func Now() int64 { return time.Now().UnixNano() } // want time time

func Since(base time.Time) time.Duration { // want time
	return time.Since(base) // want time
}

func Parse(s string) time.Duration {
	d, _ := time.ParseDuration(s) // want time
	return d
}

func Later(f func()) {
	time.AfterFunc(time.Second, f) // want time
}
