package render

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v3"
)

// errExplodes is for a document whose aliases, written out, are beyond all measure.
var errExplodes = errors.New("its aliases expand to more than is allowed")

// checkAliases bounds what a document comes to when its aliases are written out. The decoder has a bound of its
// own, but on the number of nodes: a text of a megabyte, referred to a hundred thousand times, passes it and does
// not fit into memory as JSON. Here nothing is written out, only counted. What cannot be parsed is left to the
// decoder to complain about.
func checkAliases(document []byte, limit int64) error {
	if !bytes.ContainsRune(document, '&') || !bytes.ContainsRune(document, '*') {
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(document, &root); err != nil {
		return nil //nolint:nilerr // as above
	}
	counter := expansion{limit: limit, known: map[*yaml.Node]int64{}}
	if counter.size(&root) > limit {
		return errExplodes
	}
	return nil
}

// expansion counts the bytes of nodes with their aliases written out. Each anchor is counted once.
type expansion struct {
	limit int64
	known map[*yaml.Node]int64
}

// inProgress marks an anchor that is being counted: one that contains itself has no end.
const inProgress = -1

func (e *expansion) size(node *yaml.Node) int64 {
	if node.Kind == yaml.AliasNode {
		return e.anchor(node.Alias)
	}
	total := int64(len(node.Value)) + 1
	for _, child := range node.Content {
		if total += e.child(child); total > e.limit {
			return e.limit + 1
		}
	}
	return total
}

// child counts an anchor where it is used, like an alias to it, so that it is counted once.
func (e *expansion) child(node *yaml.Node) int64 {
	if node.Anchor != "" {
		return e.anchor(node)
	}
	return e.size(node)
}

func (e *expansion) anchor(node *yaml.Node) int64 {
	switch known, counted := e.known[node]; {
	case counted && known == inProgress:
		return e.limit + 1
	case counted:
		return known
	}
	e.known[node] = inProgress
	size := e.size(node)
	e.known[node] = size
	return size
}
