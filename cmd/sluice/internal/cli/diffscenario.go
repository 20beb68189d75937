package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/sluice-go/sluice/sim"
	"github.com/sluice-go/sluice/sim/engine"
	"github.com/sluice-go/sluice/sim/sweep"
)

// scenarioDiff are the flags of diff for a scenario.
type scenarioDiff struct {
	file, client string
	seeds        int
	show         []string
	seeded       bool
}

// diffScenario simulates a scenario with two policies.
func (e *Env) diffScenario(f *diffFlags, policies []string) error {
	source, err := e.scenario(f.scenario.file)
	if err != nil {
		return err
	}
	sides := make([]*sim.Scenario, len(policies))
	for i, text := range policies {
		if sides[i], err = source.with(nil); err != nil {
			return e.wrongScenario(err)
		}
		if err := e.replacePolicy(sides[i], f.scenario.client, text); err != nil {
			return err
		}
	}
	figures := f.scenario.show
	if len(figures) == 0 {
		figures = defaultFigures(sides[0])
	}
	seed := sides[0].Seed
	if f.scenario.seeded {
		seed = f.seed
	}
	show, end := e.progress("runs")
	pair, err := sweep.Compare(sides[0], sides[1], seed, f.scenario.seeds, figures, show)
	end()
	if err != nil {
		return fail(ExitBad, err)
	}
	var out bytes.Buffer
	if f.json {
		must(pairJSON(&out, policies, seed, f.scenario.seeds, pair))
	} else {
		pairTable(&out, policies, f.scenario.seeds, pair)
	}
	return e.print(out.Bytes())
}

// replacePolicy gives a client of a scenario the policy of FILE or FILE:NAME.
func (e *Env) replacePolicy(s *sim.Scenario, client, text string) error {
	i, err := engine.PolicyClient(s, client)
	if err != nil {
		return fail(ExitBad, err)
	}
	file, name := nameBehind(text)
	doc, err := e.document(file)
	if err != nil {
		return err
	}
	one, err := pick(doc, file, name)
	if err != nil {
		return err
	}
	s.Clients[i].Policy = one
	return nil
}

// pairTable prints the figures of two policies.
func pairTable(out *bytes.Buffer, policies []string, seeds int, p *sweep.Pair) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, strings.Join([]string{"", policies[0], policies[1], "difference"}, "\t")+"\t")
	for i, path := range p.Figures {
		difference := interval(p.Difference[i])
		if !strings.HasPrefix(difference, "-") && difference != "none" {
			difference = "+" + difference
		}
		fmt.Fprintln(w, strings.Join([]string{path, interval(p.Sides[0].Figures[i]), interval(p.Sides[1].Figures[i]), difference}, "\t")+"\t")
	}
	fmt.Fprintln(w, strings.Join([]string{"verdict", verdicts(p.Sides[0].Verdicts), verdicts(p.Sides[1].Verdicts), ""}, "\t")+"\t")
	must(w.Flush())
	fmt.Fprintf(out, "Means of %s seeds, the same for both, with 95 %% confidence intervals. Times are seconds.\n", strconv.Itoa(seeds))
}

// pairJSON prints the figures of two policies as JSON.
func pairJSON(out *bytes.Buffer, policies []string, seed uint64, seeds int, p *sweep.Pair) error {
	type figure struct {
		Before     meanJSON `json:"before"`
		After      meanJSON `json:"after"`
		Difference meanJSON `json:"difference"`
	}
	figures := map[string]figure{}
	for i, path := range p.Figures {
		figures[path] = figure{jsonOf(p.Sides[0].Figures[i]), jsonOf(p.Sides[1].Figures[i]), jsonOf(p.Difference[i])}
	}
	return json.NewEncoder(out).Encode(map[string]any{
		"policies": policies, "seed": seed, "seeds": seeds, "figures": figures,
		"verdicts": []map[sim.Verdict]int{p.Sides[0].Verdicts, p.Sides[1].Verdicts},
	})
}
