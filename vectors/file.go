package vectors

import _ "embed" // for the file

//go:embed v1.bin.gz
var v1 []byte

// V1 returns the file of version 1. The caller must not change it.
func V1() []byte { return v1 }
