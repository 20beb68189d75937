package goroutine

func Start(f func()) {
	go f() // want goroutine
}
