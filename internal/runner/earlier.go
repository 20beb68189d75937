package runner

// keptErrors is how many of the first errors an Earlier has, and how many of the latest.
const keptErrors = 2

// Earlier has the errors of the attempts of a call before its last one: the first and the
// latest of them. The zero value has none.
type Earlier struct {
	first, latest [keptErrors]error
	count         int
}

// Add adds the error of an attempt that another one follows.
func (e *Earlier) Add(err error) {
	switch {
	case err == nil:
		return
	case e.count < keptErrors:
		e.first[e.count] = err
	default:
		e.latest[(e.count-keptErrors)%keptErrors] = err
	}
	e.count++
}

// List returns the errors in the order of their attempts, nil for none.
func (e *Earlier) List() []error {
	if e.count == 0 {
		return nil
	}
	list := append([]error(nil), e.first[:min(e.count, keptErrors)]...)
	for i := max(keptErrors, e.count-keptErrors); i < e.count; i++ {
		list = append(list, e.latest[(i-keptErrors)%keptErrors])
	}
	return list
}
