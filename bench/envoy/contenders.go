package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-go/sluice/internal/envoy"
)

// contender is a filter that is measured.
type contender struct {
	name    string
	filters []envoy.Filter
	refuses bool         // every request
	envoy   *envoy.Envoy // set by measure
}

// table is what is measured in turns.
type table struct {
	title, text string
	upstream    bool
	contenders  func() ([]*contender, error)
}

func tables() []table {
	return []table{
		{
			title: "Direct response", text: "Envoy answers by itself, so that a filter is as large a part of a request as it can be.",
			contenders: func() ([]*contender, error) { return contenders(false) },
		},
		{
			title: "With an upstream", text: "Requests go on to another Envoy on the machine, which answers by itself.", upstream: true,
			contenders: func() ([]*contender, error) { return contenders(true) },
		},
	}
}

// The limits of the contenders: one that no load reaches, and one that refuses every
// request but the first.
const (
	many = 1_000_000_000
	few  = time.Hour
)

// contenders returns the contenders of a table. A refused request never reaches an upstream.
func contenders(upstream bool) ([]*contender, error) {
	root, err := envoy.Root()
	if err != nil {
		return nil, err
	}
	module := func(name string) []envoy.Filter {
		return []envoy.Filter{envoy.Wasm{Name: name, Module: filepath.Join(root, "internal/envoy/testdata", name+".wasm")}.Filter()}
	}
	list := []*contender{
		{name: "no filter"},
		{name: "local_ratelimit, admitted", filters: []envoy.Filter{envoy.LocalRateLimit(many, many, time.Second)}},
		{name: "local_ratelimit, refused", filters: []envoy.Filter{envoy.LocalRateLimit(1, 1, few)}, refuses: true},
		{name: "module without callbacks", filters: module("nothing")},
		{name: "module with one callback", filters: module("continue")},
	}
	filter := filepath.Join(root, "proxywasm/sluice.wasm")
	if _, err := os.Stat(filter); err == nil {
		for _, state := range []string{"worker", "process"} {
			for _, limit := range []struct {
				name, rate string
				refuses    bool
			}{{"admitted", fmt.Sprintf("%d/1s", many), false}, {"refused", "1/1h", true}} {
				list = append(list, &contender{
					name: fmt.Sprintf("Sluice, %s, %s", state, limit.name), refuses: limit.refuses,
					filters: []envoy.Filter{sluice(filter, state, limit.rate, 0)},
				})
			}
		}
		list = append(list, &contender{name: "Sluice, process, a route and a key, admitted", filters: []envoy.Filter{plugin(filter, fmt.Sprintf(
			`{"version":1,"policies":{"all":{"steps":[{"limit":{"rate":"%d/1s","per":"header:x-tenant"}}]}},"routes":[{"path":"/**","policy":"all"}]}`, many))}})
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !upstream {
		return list, nil
	}
	var admitted []*contender
	for _, c := range list {
		if !c.refuses {
			admitted = append(admitted, c)
		}
	}
	return admitted, nil
}

// sluice is the filter of this repository with one limit for all requests. The burst is
// the count of the rate for 0.
func sluice(module, state, rate string, burst int) envoy.Filter {
	limit := fmt.Sprintf(`{"rate":%q}`, rate)
	if burst > 0 {
		limit = fmt.Sprintf(`{"rate":%q,"burst":%d}`, rate, burst)
	}
	return plugin(module, fmt.Sprintf(`{"version":1,"policies":{"all":{"steps":[{"limit":%s}]}},"http":{"default":"all"},"proxy":{"state":%q}}`, limit, state))
}

func plugin(module, document string) envoy.Filter {
	return envoy.Wasm{Name: "sluice", Module: module, Failure: envoy.FailReload, Configuration: document}.Filter()
}
