package versions

import (
	"github.com/Masterminds/semver/v3"
)

// IsDowngrade reports whether wanted is lower than installed. It compares major, minor and patch, as
// docs/contract.md#messages says, so pre-releases of one version are equal. It returns false if a version cannot be
// parsed.
func IsDowngrade(installed, wanted string) bool {
	from, err := semver.NewVersion(installed)
	if err != nil {
		return false
	}
	to, err := semver.NewVersion(wanted)
	if err != nil {
		return false
	}
	return core(to).LessThan(core(from))
}

func core(v *semver.Version) *semver.Version {
	return semver.New(v.Major(), v.Minor(), v.Patch(), "", "")
}
