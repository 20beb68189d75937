package vectors

import _ "embed" // for the file

//go:embed v1.bin.gz
var v1 []byte

// V1 returns the file of version 1. It is not to be changed.
func V1() []byte { return v1 }
