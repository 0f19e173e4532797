package shared

import (
	"hash/fnv"
	"path"
	"strconv"
	"strings"
)

// maxManifestNameLength is short enough to use a Manifest's name as a label
// value.
const maxManifestNameLength = 62

// ManifestName returns the name of the Manifest of one module of one Kyma: `<kyma
// name>-<last path segment of the component name>-<hash>`. The hash is the
// decimal FNV-1 32-bit sum of the component name followed by the module name. A
// name of 63 characters or more is truncated to 62. Then trailing dashes are
// removed.
//
// Lifecycle Manager finds installed modules by this name
// (docs/contract.md#manifest-names).
func ManifestName(kymaName, componentName, moduleName string) string {
	name := kymaName + "-" + path.Base(componentName) + "-" + strconv.FormatUint(uint64(hashOf(componentName+moduleName)), 10)
	if len(name) > maxManifestNameLength {
		name = name[:maxManifestNameLength]
	}
	return strings.TrimRight(name, "-")
}

// hashOf returns the FNV-1 32-bit sum.
func hashOf(name string) uint32 {
	hash := fnv.New32()
	// A hash.Hash never returns an error from Write.
	_, _ = hash.Write([]byte(name))
	return hash.Sum32()
}
