package assert

// Few is up to how many waiters, holders or entries an assertion walks.
const Few = 24

// That panics with what is asserted, unless it holds.
func That(holds bool, what string) {
	if !holds {
		panic("assertion: " + what)
	}
}

// Sound panics with the error of a check, unless it is nil.
func Sound(err error) {
	if err != nil {
		panic("assertion: " + err.Error())
	}
}
