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
	// images are where this component version has the module's images.
	images []string
}

// layersOf picks the one installable layer, the configuration and the default custom resource. The
// repository is where blobs are that the descriptor only names by digest; empty is the one that it names itself.
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

// reasonOf tells a descriptor that says something wrong from one that asks for what we do not install.
func reasonOf(problems field.ErrorList) string {
	for _, problem := range problems {
		if problem.Type == field.ErrorTypeInvalid {
			return versions.ReasonInvalidDescriptor
		}
	}
	return versions.ReasonUnsupportedLayer
}

// sourceType says how the layer is read. A chart whose access does not tell its media type is written as
// Manifests of the older generation have it: `oci-ref`, with the media type to tell it from a YAML file.
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

// imageOf translates a part into a source: `<repository>/component-descriptors`, the component name,
// and the digest. A Manifest has the repository in another form (descriptor.InManifest). A blob that names a repository of its own is taken from there.
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

// referenceTo is the image of a single file; nil where there is none.
func referenceTo(described *versions.Descriptor, part *descriptor.Part, repository string) *v1beta2.ImageSpec {
	if part == nil {
		return nil
	}
	image := imageOf(described, *part, repository)
	image.Type = v1beta2.ImageSourceOCIRef
	return image
}
