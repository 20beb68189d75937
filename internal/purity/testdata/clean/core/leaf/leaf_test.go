package leaf

import (
	"fmt"
	"time"
)

var changed = time.Now()

func init() {
	go fmt.Println(changed)
}
