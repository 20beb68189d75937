// Package settings explains the settings of the mechanisms: their types, ranges,
// defaults, and what larger and smaller values do, all of it from the table of
// mechanisms.
package settings
