// Package report writes a result of the simulator for people: Text as a table for a
// terminal, HTML as a page that needs nothing else, SVG as a picture for a document.
// Equal results give equal bytes on every platform. What is drawn over time is laid out
// by package lanes.
package report
