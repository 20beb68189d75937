// Package generate makes random small policies and logs that try the core where
// it is easily wrong: everything at once, at the same mark, just before it and
// just after it. It also prints them as the files that the command reads, and
// shrinks what fails to what is needed for it.
package generate
