package channel

func Use(c chan int) { // want channel
	c <- 1   // want channel
	<-c      // want channel
	close(c) // want close
	select { // want channel
	default:
	}
	for range c { // want channel
	}
	_ = make(chan struct{}) // want channel
}
