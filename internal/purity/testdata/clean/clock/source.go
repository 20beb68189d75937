package clock

import (
	"sync"
	"time"
)

var mu sync.Mutex

type Source struct{ base time.Time }

func New() Source { return Source{time.Now()} }

func (s Source) Now() Mark {
	mu.Lock()
	defer mu.Unlock()
	return Mark(time.Since(s.base))
}
