// Package filewatch looks at files and reads those that have changed. Looking works where
// notices of the system do not: on network file systems, with files that are replaced, and
// through the links of a Kubernetes volume.
package filewatch
