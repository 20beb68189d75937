// Package lanes lays a result of the simulator out as lanes over one axis of time, for
// everything that draws it: a table, a page or a picture. Equal results give equal
// lanes on every platform.
package lanes
