package outside

import "os"

var Args = os.Args
