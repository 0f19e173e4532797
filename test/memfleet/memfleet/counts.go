package memfleet

import (
	"sync"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// names numbers what requests are about: verb and resource. There are few of them, and each cluster counts by number.
type names struct {
	mu      sync.RWMutex
	numbers map[string]uint16
	all     []string
}

func (n *names) number(info *request.RequestInfo) uint16 {
	what := info.Verb + " " + info.Path
	if info.IsResourceRequest {
		what = info.Verb + " " + info.Resource
		if info.APIGroup != "" {
			what += "." + info.APIGroup
		}
		if info.Subresource != "" {
			what += "/" + info.Subresource
		}
	}
	n.mu.RLock()
	number, known := n.numbers[what]
	n.mu.RUnlock()
	if known {
		return number
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if number, known = n.numbers[what]; known {
		return number
	}
	// Paths are the client's choice, and must not fill the memory.
	const most = 4096
	if len(n.all) >= most {
		what = "others"
		if number, known = n.numbers[what]; known {
			return number
		}
	}
	if n.numbers == nil {
		n.numbers = map[string]uint16{}
	}
	number = uint16(len(n.all)) //nolint:gosec // there are at most a few thousand
	n.numbers[what] = number
	n.all = append(n.all, what)
	return number
}

func (n *names) list() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.all
}

// counts are the requests to one cluster.
type counts struct {
	mu  sync.Mutex
	all []count
}

type count struct {
	name uint16
	n    uint32
}

func (c *counts) add(name uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.all {
		if c.all[i].name == name {
			c.all[i].n++
			return
		}
	}
	c.all = append(c.all, count{name, 1})
}

func (c *counts) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = nil
}

func (c *counts) sum(into map[string]int64, names []string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := int64(0)
	for _, one := range c.all {
		if int(one.name) < len(names) {
			into[names[one.name]] += int64(one.n)
		}
		total += int64(one.n)
	}
	return total
}
