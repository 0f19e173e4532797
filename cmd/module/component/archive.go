package component

import (
	"errors"
	"fmt"

	"ocm.software/ocm/api/ocm/extensions/repositories/ctf"
	"ocm.software/ocm/api/utils/accessio"
)

// WriteArchive writes the component version into a common transport archive in a
// folder. The folder must not exist yet. The OCM command line tool can read the
// archive. The descriptor names no registry.
func WriteArchive(path string, version Version) (_ Descriptor, err error) {
	octx := newContext()
	composed, err := compose(octx, version, nil)
	if err != nil {
		return Descriptor{}, err
	}
	defer func() { err = errors.Join(err, composed.Close()) }()

	repository, err := ctf.Create(octx, ctf.ACC_CREATE, path, 0o755, accessio.FormatDirectory)
	if err != nil {
		return Descriptor{}, fmt.Errorf("create archive %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, repository.Close()) }()

	if err := repository.AddComponentVersion(composed, false); err != nil {
		return Descriptor{}, fmt.Errorf("write component %s into archive %s: %w", version, path, err)
	}
	return storedDescriptor(repository, version)
}
