package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// programTasks compare what programs link. Their source is in internal/programs.
func programTasks() []task {
	failsafe := linked("failsafe")
	return []task{
		{name: "program, one limiter", allocs: -1, unit: "kB", sluice: linked("limiter"), peers: []peer{{"failsafe-go", failsafe, 0.9}}},
		{name: "program, one cell of core/limiter", allocs: -1, unit: "kB", sluice: linked("core"), peers: []peer{{"failsafe-go", failsafe, 0.9}}},
	}
}

// linked returns the size of a program without its symbols.
func linked(name string) contender {
	size := sync.OnceValue(func() figure {
		dir, err := os.MkdirTemp("", "sluice-bench-")
		good(err)
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, name)
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "github.com/sluice-go/sluice/bench/internal/programs/"+name)
		build.Stderr = os.Stderr
		good(build.Run())
		info, err := os.Stat(file)
		good(err)
		return figure{value: float64(info.Size()) / 1000}
	})
	return func(context.Context) turn { return func(options) figure { return size() } }
}
