package shared

import (
	"hash/fnv"
	"path"
	"strconv"
	"strings"
)

// maxManifestNameLength keeps a Manifest's name usable as a label value.
const maxManifestNameLength = 62

// ManifestName returns the name of the Manifest of one module of one Kyma:
// `<kyma name>-<last path segment of the component name>-<hash>`, where hash is
// the decimal FNV-1 32-bit sum of component name and module name, one after the
// other. A name of 63 characters or more is cut to 62, and trailing dashes are
// removed.
//
// Installed modules are found again by this name (docs/contract.md#manifest-names).
func ManifestName(kymaName, componentName, moduleName string) string {
	name := kymaName + "-" + path.Base(componentName) + "-" + strconv.FormatUint(uint64(hashOf(componentName+moduleName)), 10)
	if len(name) > maxManifestNameLength {
		name = name[:maxManifestNameLength]
	}
	return strings.TrimRight(name, "-")
}

// hashOf is the FNV-1 32-bit sum.
func hashOf(name string) uint32 {
	hash := fnv.New32()
	// A hash.Hash never returns an error from Write.
	_, _ = hash.Write([]byte(name))
	return hash.Sum32()
}
