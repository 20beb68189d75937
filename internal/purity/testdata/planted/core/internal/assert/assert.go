package assert

func That(holds bool) {
	if !holds {
		panic("assertion") // as the core's own
	}
}
