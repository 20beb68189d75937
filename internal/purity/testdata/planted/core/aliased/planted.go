package aliased

import (
	. "time"
	clk "time"
)

func A() any { return clk.Now() } // want time
func B() any { return Now() }     // want time

var read = clk.Now // want variable time
