package clusters

import "strconv"

// revision is a resourceVersion as a number; 0 where it is unknown. Kubernetes lets clients compare the
// resourceVersions of one kind, lists of it included: the larger is the later.
type revision uint64

// maxChanges bounds for how many Kymas it is remembered that their access changed.
const maxChanges = 4096

func parseVersion(resourceVersion string) revision {
	parsed, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return revision(parsed)
}
