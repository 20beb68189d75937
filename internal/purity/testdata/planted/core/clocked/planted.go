package clocked

import "example.test/planted/clock"

type cell struct {
	source clock.Source // want clock
}

func (c cell) now() clock.Mark { return c.source.Now() }    // want clock
func fresh() cell              { return cell{clock.New()} } // want clock
