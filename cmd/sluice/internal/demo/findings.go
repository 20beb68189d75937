package demo

import (
	"fmt"
	"strings"
)

// Finding is what a part of the run showed, in plain sentences.
type Finding struct {
	Title string
	Text  string
}

// Findings says what is seen. Every sentence depends on what was measured: with
// another policy, or on a machine that is too busy, other things are seen.
func Findings(s Scenario, sums *[Sides]Summary) []Finding {
	return []Finding{
		{"While all is well", healthyText(s, sums)},
		{"The brown-out", fmt.Sprintf("At %s every request begins to fail. From %s on they are answered again, but each takes %d times as long, "+
			"so that the service can do %.0f/s where %.0f/s come. At %s it is as good as new.",
			seconds(s.FailAt), seconds(s.SlowAt), s.Factor, s.Capacity(Slow), s.Rate, seconds(s.HealAt))},
		{"Callers with no policy", naiveText(s, &sums[Without])},
		{"Callers with timeouts and a retry budget by hand", byHandText(s, &sums[ByHand])},
		{"Callers with the policy", guardedText(s, &sums[With])},
		{"Afterwards", afterText(s, sums)},
	}
}

func healthyText(s Scenario, sums *[Sides]Summary) string {
	least := s.Rate
	var rates []string
	for i := range sums {
		least = min(least, sums[i].Goodput[Healthy])
		rates = append(rates, fmt.Sprintf("%.0f/s (%s)", sums[i].Goodput[Healthy], Side(i)))
	}
	text := fmt.Sprintf("%.0f calls a second come to a service that can do %.0f. ", s.Rate, s.Capacity(Healthy))
	if least >= s.Rate*0.95 {
		text += "Nearly all get a good answer, on every side. "
	} else {
		text += fmt.Sprintf("Good answers: %s. ", strings.Join(rates, ", "))
	}
	return text + fmt.Sprintf("About %s of the requests fail by chance; trying again is the right answer to that.", percent(s.Fault))
}

func naiveText(s Scenario, m *Summary) string {
	text := fmt.Sprintf("They wait %s for an answer and try up to %d times, at once. At its worst that made %.0f requests a second of %.0f calls; "+
		"up to %d of them waited in the service's queue. ", millis(s.Patience), s.Attempts, m.Peak, s.Rate, m.Queue)
	return text + wastedText(m) + goodputText(s, m)
}

func byHandText(s Scenario, m *Summary) string {
	text := fmt.Sprintf("They wait as long for an answer and %s for the whole call, pause before a retry for up to %s and then twice as long, and repeat no more than %s of the calls. "+
		"There is no storm: %d retries in all. But new calls still come to a service that cannot serve them: up to %d of them waited in its queue. ",
		seconds(s.Deadline), millis(s.Backoff), percent(s.Budget), m.Retries, m.Queue)
	return text + wastedText(m) + goodputText(s, m)
}

// wastedText says how much of the work came too late, if it was much.
func wastedText(m *Summary) string {
	if m.Wasted < 0.1 {
		return ""
	}
	return fmt.Sprintf("By the time a request was served its caller had often left: %s of the work of the service was for such requests. ", percent(m.Wasted))
}

// goodputText compares what came of the slow phase with what was possible.
func goodputText(s Scenario, m *Summary) string {
	return fmt.Sprintf("While it was slow %.0f calls a second got a good answer, %s of what it could do.", m.Goodput[Slow],
		percent(m.Goodput[Slow]/s.could(Slow)))
}

func guardedText(s Scenario, m *Summary) string {
	text := "The policy turned no call away. "
	if m.Refused > 0 {
		var most []string
		for _, c := range m.Reasons[:min(3, len(m.Reasons))] {
			most = append(most, fmt.Sprintf("%s %d", c.Name, c.Times))
		}
		text = fmt.Sprintf("The policy turned %d calls away (%s), 99 of 100 of them within %s. ",
			m.Refused, strings.Join(most, ", "), millis(m.RefusedP99))
	}
	text += fmt.Sprintf("No more than %d requests waited at the service, and %d attempts in all were retries. ", m.Queue, m.Retries)
	return text + goodputText(s, m)
}

func afterText(s Scenario, sums *[Sides]Summary) string {
	naive, hand, guarded := &sums[Without], &sums[ByHand], &sums[With]
	text := ""
	switch {
	case !naive.Recovered:
		text = fmt.Sprintf("Nothing is wrong with the service any more, yet with no policy it does not come back in %s: %.0f/s of %.0f/s. "+
			"The retries alone keep it busy with requests that are too late, and being too late makes the retries. This is a metastable failure; "+
			"in production it lasts until the load is taken away. ", seconds(s.Duration-s.HealAt), naive.Goodput[Healed], s.Rate)
	default:
		text = fmt.Sprintf("With no policy the callers are well again after %s. ", inWords(recovered(s, naive)))
	}
	if hand.Recovered {
		text += fmt.Sprintf("By hand it takes %s. ", inWords(recovered(s, hand)))
	} else {
		text += fmt.Sprintf("By hand it does not come back: %.0f/s of %.0f/s. ", hand.Goodput[Healed], s.Rate)
	}
	if !guarded.Recovered {
		return text + fmt.Sprintf("With the policy it does not come back: %.0f/s of %.0f/s.", guarded.Goodput[Healed], s.Rate)
	}
	return text + fmt.Sprintf("With the policy it takes %s, and %.0f calls a second are answered well again.",
		inWords(recovered(s, guarded)), guarded.Goodput[Healed])
}

// inWords writes "<0.1s" for a sentence.
func inWords(text string) string { return strings.Replace(text, "<", "less than ", 1) }
