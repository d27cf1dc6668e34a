// As many goroutines as cores compute.
package main

import (
	"runtime"
	"sync"
	"time"
)

var sink uint64

func compute(end time.Time) {
	number := uint64(1)
	for time.Now().Before(end) {
		for i := 0; i < 1000000; i++ {
			number = number*6364136223846793005 + 1442695040888963407
		}
	}
	sink = number
}

func main() {
	var group sync.WaitGroup
	end := time.Now().Add(6 * time.Second)
	for i := 0; i < runtime.NumCPU(); i++ {
		group.Add(1)
		go func() { defer group.Done(); compute(end) }()
	}
	group.Wait()
}
