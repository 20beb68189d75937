// Package webpage has what the pages and pictures of Sluice share: their colours, and the
// style of the elements of a page.
package webpage

import _ "embed" // for the style sheets

//go:embed colours.css
var colours string

//go:embed base.css
var base string

// Colours returns the style sheet of the colours, for light and dark pages: variables,
// and classes that set --own to the colour of what a series, a state or a reason shows.
func Colours() string { return colours }

// Base returns the style sheet of the elements of a page, which needs Colours.
func Base() string { return base }
