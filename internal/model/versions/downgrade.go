package versions

import (
	"github.com/Masterminds/semver/v3"
)

// IsDowngrade tells whether wanted is lower than installed by major, minor and patch, which is what
// docs/contract.md#messages compares: pre-releases of one version are all the same here. Versions that cannot
// be parsed are not compared.
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
