package requests

import "strings"

// Cookie is what the Cookie lines of a request say of one name.
type Cookie struct {
	// Value is the first value, without quotes.
	Value string
	// Found says that there is one.
	Found bool
	// Several says that there are different values: servers differ in which of them
	// they take.
	Several bool
}

// Add reads a line of the header field.
func (c *Cookie) Add(line, name string) {
	for pair := range strings.SplitSeq(line, ";") {
		key, value, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
		if strings.Trim(key, " \t") != name {
			continue
		}
		if value = strings.Trim(value, " \t"); len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		if !c.Found {
			c.Value, c.Found = value, true
		}
		c.Several = c.Several || value != c.Value
	}
}
