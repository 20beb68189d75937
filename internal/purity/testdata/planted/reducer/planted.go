package reducer

import "time"

var Start = time.Now() // want variable time
