package planning

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

const chartMediaType = artifacts.ChartMediaType

// layers are the parts of a component version that go into a Manifest.
type layers struct {
	install   v1beta2.InstallInfo
	config    *v1beta2.ImageSpec
	defaultCR *v1beta2.ImageSpec
	// images are the locations of the module's images for this component version.
	images []string
}

// layersOf returns the one installable layer, the configuration and the default custom resource. Repository is the
// location of blobs that the descriptor names only by digest; empty means the descriptor's own repository.
func layersOf(described *versions.Descriptor, repository string) (layers, *versions.Refusal) {
	var found layers
	contents, problems := described.Contents()
	if len(problems) > 0 {
		return found, versions.Refuse(reasonOf(problems), "component %s: %v", described.Component, problems.ToAggregate())
	}
	if repo, _ := described.Place(repository); repo == "" && contents.NeedRepository() {
		return found, versions.Refuse(versions.ReasonInvalidDescriptor, "component %s: no repositoryContexts name the repository of its resources",
			described.Component)
	}
	found.install = v1beta2.InstallInfo{Name: contents.Install.Name, Source: *imageOf(described, contents.Install, repository)}
	found.install.Source.Type = sourceType(contents.Install)
	found.config = referenceTo(described, contents.Config, repository)
	found.defaultCR = referenceTo(described, contents.DefaultCR, repository)
	found.images = contents.Images
	return found, nil
}

// reasonOf distinguishes an invalid descriptor from one with content that we do not install.
func reasonOf(problems field.ErrorList) string {
	for _, problem := range problems {
		if problem.Type == field.ErrorTypeInvalid {
			return versions.ReasonInvalidDescriptor
		}
	}
	return versions.ReasonUnsupportedLayer
}

// sourceType returns how the layer is read. The access `localOciBlob` has no media type. A chart with it gets the type
// `oci-ref`, as in Manifests of the older generation; the media type in the Manifest distinguishes it from a YAML file.
func sourceType(part descriptor.Part) v1beta2.ImageSourceType {
	switch {
	case part.Use == descriptor.UseHelmChart && part.Access.Kind() == descriptor.AccessLocalOCIBlob:
		return v1beta2.ImageSourceOCIRef
	case part.Use == descriptor.UseHelmChart:
		return v1beta2.ImageSourceHelmChart
	case strings.Contains(part.Access.MediaType, "tar"):
		return v1beta2.ImageSourceOCIDir
	default:
		return v1beta2.ImageSourceOCIRef
	}
}

// imageOf translates a part into a source: `<repository>/component-descriptors`, the component name, and the digest. A
// Manifest has the repository in another form (descriptor.InManifest). A blob that names its own repository keeps it.
func imageOf(described *versions.Descriptor, part descriptor.Part, repository string) *v1beta2.ImageSpec {
	repo, name := described.Place(repository)
	image := &v1beta2.ImageSpec{
		Repo:      repo,
		Name:      name,
		Ref:       part.Digest,
		MediaType: part.Access.MediaType,
		Size:      part.Access.Size,
	}
	if part.Registry != "" {
		image.Repo, image.Name = part.Registry, part.Path
	}
	if image.MediaType == "" && part.Use == descriptor.UseHelmChart {
		image.MediaType = chartMediaType
	}
	return image
}

// referenceTo returns the image of a single file; nil if part is nil.
func referenceTo(described *versions.Descriptor, part *descriptor.Part, repository string) *v1beta2.ImageSpec {
	if part == nil {
		return nil
	}
	image := imageOf(described, *part, repository)
	image.Type = v1beta2.ImageSourceOCIRef
	return image
}
