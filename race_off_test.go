//go:build !race

package sluice_test

const raced = false
