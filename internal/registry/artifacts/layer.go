package artifacts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Form is the form of a layer's content.
type Form string

const (
	// FormAny accepts each form: a chart, an archive of a folder, or YAML.
	FormAny Form = ""
	// FormDirectory requires an archive of a folder with YAML files, or of a chart.
	FormDirectory Form = "directory"
	// FormChart requires an archive of a Helm chart.
	FormChart Form = "chart"
	// formYAML is the form of a layer that turns out to be YAML.
	formYAML Form = "yaml"
)

// inLayer adds the layer to an error, and keeps the other fields of a fault.
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
	// Name is the component name, or the name that the component is mapped to (see descriptor.Descriptor.Place).
	Name string
	// Digest is "sha256:…".
	Digest string
	// Artifact says that the digest belongs to an OCI manifest, and that its only layer or its chart is wanted.
	Artifact bool
}

// String returns the layer's name for people.
func (l Layer) String() string { return fmt.Sprintf("layer %s/%s@%s", l.Repository, l.Name, l.Digest) }

// key names the layer in caches, together with its repository. A digest alone is no secret: access to one repository
// does not imply access to another. A layer in several repositories is fetched once from each.
func (l Layer) key() string {
	return withoutScheme(l.Repository) + "/" + l.Name + "@" + l.Digest
}

// withoutScheme returns a reference without its optional scheme.
func withoutScheme(reference string) string {
	for _, scheme := range []string{"https://", "http://", "oci://"} {
		reference = strings.TrimPrefix(reference, scheme)
	}
	return reference
}

func parseDigest(digest string) (string, error) {
	sum, isSHA := strings.CutPrefix(digest, "sha256:")
	if decoded, err := hex.DecodeString(sum); !isSHA || err != nil || len(decoded) != sha256.Size {
		return "", fmt.Errorf("%q is not a digest sha256:<64 hexadecimal digits>; layers must be named by digest, so that exactly the released content is installed", digest)
	}
	return strings.ToLower(sum), nil
}
