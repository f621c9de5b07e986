// Ways Go waits, in their order, each with the seconds that its own clock says have passed.
package main

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

func main() {
	start := time.Now()
	wall := start.Unix()
	said := func(name string) {
		fmt.Println(name, math.Round(time.Since(start).Seconds()), time.Now().Unix()-wall)
	}
	time.Sleep(time.Hour)
	said("sleep")
	<-time.After(time.Minute)
	said("after")
	limited, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	<-limited.Done()
	cancel()
	said("timeout")
	var all sync.WaitGroup
	var one sync.Mutex
	for _, seconds := range []int{40, 10, 30, 20} {
		all.Add(1)
		go func(seconds int) {
			time.Sleep(time.Duration(seconds) * time.Second)
			one.Lock()
			said(fmt.Sprint("goroutine ", seconds))
			one.Unlock()
			all.Done()
		}(seconds)
	}
	all.Wait()
	ticker := time.NewTicker(100 * time.Second)
	for n := 0; n < 3; n++ {
		<-ticker.C
		said("tick")
	}
}
