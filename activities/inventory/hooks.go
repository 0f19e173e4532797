package inventory

import (
	"hash/fnv"
	"strconv"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// runOf names the run of the hooks of a Manifest's layers, in a form that fits into an annotation.
func runOf(m *v1beta2.Manifest) string {
	hash := fnv.New64a()
	// A hash.Hash never returns an error from Write.
	_, _ = hash.Write([]byte(LayersRef(m)))
	return strconv.FormatUint(hash.Sum64(), 16)
}

// HookRan is what an inventory entry records of a hook that ran for these layers, in this phase.
func HookRan(ref, phase string) string { return ref + " " + phase }
