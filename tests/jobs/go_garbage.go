// A tree that is always made again beside one that lives.
package main

import "time"

type node struct{ left, right *node }

func grow(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{grow(depth - 1), grow(depth - 1)}
}

func main() {
	kept := grow(20)
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); {
		grow(14)
	}
	_ = kept.left
}
