package record

import (
	"slices"
	"strings"
)

// Requests are numbers of requests, by verb and resource.
type Requests map[string]int64

// Since are the requests that came after those of before.
func (r Requests) Since(before Requests) Requests {
	came := Requests{}
	for what, n := range r {
		if n -= before[what]; n > 0 {
			came[what] = n
		}
	}
	return came
}

// total is the number of all requests.
func (r Requests) total() int64 {
	var n int64
	for _, one := range r {
		n += one
	}
	return n
}

// writes is the number of those that ask for a change.
func (r Requests) writes() int64 {
	return r.of("create", "update", "patch", "apply", "delete", "deletecollection", "post", "put")
}

// reads is the number of those that ask for objects once; a watch is none.
func (r Requests) reads() int64 { return r.of("get", "list") }

func (r Requests) lists() int64 { return r.of("list") }

func (r Requests) of(verbs ...string) int64 {
	var n int64
	for what, one := range r {
		if verb, _, _ := strings.Cut(strings.ToLower(what), " "); slices.Contains(verbs, verb) {
			n += one
		}
	}
	return n
}

// ofEntities are the requests but for those that processes make for themselves.
func (r Requests) ofEntities() Requests {
	own := Requests{}
	for what, n := range r {
		if !strings.HasSuffix(what, " leases") && !strings.HasSuffix(what, " configmaps") {
			own[what] = n
		}
	}
	return own
}
