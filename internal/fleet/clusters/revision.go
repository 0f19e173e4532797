package clusters

import "strconv"

// revision is a resourceVersion as a number, or 0 if unknown. Kubernetes lets clients compare the resourceVersions of
// one kind and its lists: the larger one is the later one.
type revision uint64

// maxChanges bounds the number of Kymas with a recorded change of access.
const maxChanges = 4096

func parseVersion(resourceVersion string) revision {
	parsed, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return revision(parsed)
}
