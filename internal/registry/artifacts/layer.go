package artifacts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Form is what a layer is made of.
type Form string

const (
	// FormAny takes the layer for what its content shows: a chart, an archive of a folder, or YAML.
	FormAny Form = ""
	// FormDirectory must be an archive of a folder with YAML files, or of a chart.
	FormDirectory Form = "directory"
	// FormChart must be an archive of a Helm chart.
	FormChart Form = "chart"
	// formYAML is what a layer turns out to be.
	formYAML Form = "yaml"
)

// inLayer says in which layer something is wrong, and keeps what else the fault says.
func inLayer(l Layer, err error) error {
	var known *fault.Error
	if !errors.As(err, &known) {
		return fmt.Errorf("%s: %w", l, err)
	}
	located := *known
	located.Message, located.Cause = l.String()+": "+known.Message, known
	return &located
}

// Layer names a layer in a registry.
type Layer struct {
	// Repository is the registry with the path before the component name, e.g.
	// "host:5000/sub/component-descriptors". A scheme before it is ignored.
	Repository string
	// Name is the component name, or what it is mapped to (see descriptor.Descriptor.Place).
	Name string
	// Digest is "sha256:…".
	Digest string
	// Artifact is set where the digest is that of an OCI manifest, of which the one layer is meant.
	Artifact bool
}

// String names the layer for people.
func (l Layer) String() string { return fmt.Sprintf("layer %s/%s@%s", l.Repository, l.Name, l.Digest) }

// key names the layer in caches, with the repository that it is read from: a digest alone is no secret, and who may read
// another repository may not read this one. What several have is fetched once from each.
func (l Layer) key() string {
	return withoutScheme(l.Repository) + "/" + l.Name + "@" + l.Digest
}

// withoutScheme is a reference without the scheme that some write before it.
func withoutScheme(reference string) string {
	for _, scheme := range []string{"https://", "http://", "oci://"} {
		reference = strings.TrimPrefix(reference, scheme)
	}
	return reference
}

func parseDigest(digest string) (string, error) {
	sum, isSHA := strings.CutPrefix(digest, "sha256:")
	if decoded, err := hex.DecodeString(sum); !isSHA || err != nil || len(decoded) != sha256.Size {
		return "", fmt.Errorf("%q is not a digest sha256:<64 hexadecimal digits>; layers are named by digest only, so that what is installed is what was released", digest)
	}
	return strings.ToLower(sum), nil
}
