package main

import "slices"

// cases are all that is measured, in the order of the table.
func cases() []task { return slices.Concat(limiterTasks(), breakerTasks(), pipelineTasks()) }
