package stop

func Stop(n int) {
	defer func() {
		_ = recover() // want recover
	}()
	if n < 0 {
		panic("negative") // want panic
	}
	println(n) // want println
}
