package drive

// Cells returns how many cells the steps in force have.
func Cells(d *Driver) (n int) {
	for _, p := range d.layout.pools {
		if p != nil {
			n += len(p.list)
		}
	}
	return n
}
