package render

import (
	"bytes"
	"errors"

	"go.yaml.in/yaml/v3"
)

// errExplodes reports a document with aliases that expand to more than is allowed.
var errExplodes = errors.New("its aliases expand to more than is allowed")

// checkAliases bounds the size of a document with its aliases expanded. The decoder bounds only the number of nodes: a
// text of a megabyte with a hundred thousand aliases passes that bound, but does not fit into memory as JSON.
// checkAliases counts bytes without expanding anything. It leaves documents that do not parse to the decoder, which
// reports them.
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

// expansion counts the bytes of nodes with expanded aliases. It counts each anchor once.
type expansion struct {
	limit int64
	known map[*yaml.Node]int64
}

// inProgress marks an anchor while its size is being counted. An anchor that contains itself has no finite size.
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

// child counts an anchored node like an alias to it, so that the anchor is counted once.
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
