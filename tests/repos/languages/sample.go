// Copyright 2026 nobody.

//go:build linux

// Package sample shows what Go declares.
package sample

import (
	"fmt"
)

// Levels of care.
const (
	Low = iota
	Mid
	// High is the most.
	High
)

var Default = Low

// Pair holds two.
type Pair[K comparable, V any] struct {
	Key K
	Val V
}

// String writes a pair.
func (p *Pair[K, V]) String() string {
	return fmt.Sprint(p.Key, p.Val)
}

type (
	// Namer has a name.
	Namer interface {
		Name() string
	}
	ID = string
)

func main() { fmt.Println(Default) }
