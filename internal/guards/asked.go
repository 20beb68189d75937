package guards

import (
	"cmp"

	"github.com/sluice-go/sluice/internal/runner"
	"github.com/sluice-go/sluice/reducer"
)

// Asked returns the outcome that a function of the user gave, or the one that holds
// without it where it gave none.
func Asked(own, otherwise reducer.Outcome) reducer.Outcome {
	return cmp.Or(runner.Classified(own), otherwise)
}
