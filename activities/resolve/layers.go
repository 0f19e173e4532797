package resolve

import (
	"strings"

	"github.com/kyma-project/lifecycle-manager/activities/descriptor"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// componentDescriptors is the path below a repository under which component versions are kept.
	componentDescriptors = "component-descriptors"
	chartMediaType       = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// layers are the parts of a component version that go into a Manifest.
type layers struct {
	install   v1beta2.InstallInfo
	config    *v1beta2.ImageSpec
	defaultCR *v1beta2.ImageSpec
}

// layersOf picks the one installable layer, the configuration and the default custom resource. The
// repository is where blobs are that the descriptor only names by digest.
func layersOf(described *Descriptor, repository string) (layers, *Refusal) {
	var found layers
	var installable []string
	for _, resource := range described.Resources {
		use := resource.Use()
		if use == "" {
			continue
		}
		if use == descriptor.UseKustomize {
			return found, refuse(ReasonUnsupportedLayer, "component %s: resource %s: kustomize folders are not supported; "+
				"render it to a raw-manifest", described.Component, resource.Name)
		}
		image, refusal := imageOf(described, resource, repository)
		if refusal != nil {
			return found, refusal
		}
		switch use {
		case descriptor.UseConfig:
			image.Type = v1beta2.ImageSourceOCIRef
			found.config = image
		case descriptor.UseDefaultCR:
			image.Type = v1beta2.ImageSourceOCIRef
			found.defaultCR = image
		default:
			image.Type = sourceType(use, resource.Access)
			found.install = v1beta2.InstallInfo{Name: resource.Name, Source: *image}
			installable = append(installable, resource.Name)
		}
	}
	switch len(installable) {
	case 0:
		return found, refuse(ReasonUnsupportedLayer,
			"component %s has nothing to install: no resource of type raw-manifest or helm-chart", described.Component)
	case 1:
		return found, nil
	default:
		return found, refuse(ReasonUnsupportedLayer, "component %s has more than one thing to install: %s",
			described.Component, strings.Join(installable, ", "))
	}
}

// sourceType says how the layer is read. A chart whose access does not tell its media type is written as
// the seeds' Manifests have it: `oci-ref`, with the media type to tell it from a YAML file.
func sourceType(use descriptor.Use, access descriptor.Access) v1beta2.ImageSourceType {
	switch {
	case use == descriptor.UseHelmChart && access.Kind() == descriptor.AccessLocalOCIBlob:
		return v1beta2.ImageSourceOCIRef
	case use == descriptor.UseHelmChart:
		return v1beta2.ImageSourceHelmChart
	case strings.Contains(access.MediaType, "tar"):
		return v1beta2.ImageSourceOCIDir
	default:
		return v1beta2.ImageSourceOCIRef
	}
}

// imageOf translates an access into a source: `<repository>/component-descriptors`, the component name,
// and the digest (seeds, `.spec.install`).
func imageOf(described *Descriptor, resource descriptor.Resource, repository string) (*v1beta2.ImageSpec, *Refusal) {
	access := resource.Access
	image := &v1beta2.ImageSpec{
		Repo:      repository + "/" + componentDescriptors,
		Name:      described.RepositoryName,
		MediaType: access.MediaType,
		Size:      access.Size,
	}
	if image.MediaType == "" && resource.Use() == descriptor.UseHelmChart {
		image.MediaType = chartMediaType
	}
	switch access.Kind() {
	case descriptor.AccessLocalOCIBlob:
		image.Ref = access.Digest
	case descriptor.AccessLocalBlob:
		image.Ref = access.LocalReference
	case descriptor.AccessOCIBlob:
		image.Ref = access.Digest
		reference, _, _ := strings.Cut(access.Reference, "@")
		slash := strings.LastIndex(reference, "/")
		if slash <= 0 {
			return nil, refuse(ReasonUnsupportedLayer, "component %s: resource %s: access.ref %q names no registry",
				described.Component, resource.Name, access.Reference)
		}
		image.Repo, image.Name = reference[:slash], reference[slash+1:]
		return image, checkRef(described, resource, image)
	default:
		return nil, refuse(ReasonUnsupportedLayer, "component %s: resource %s: access type %q is not supported",
			described.Component, resource.Name, access.Type)
	}
	if repository == "" {
		return nil, refuse(ReasonInvalidDescriptor, "component %s: no repositoryContexts say where its resources are",
			described.Component)
	}
	return image, checkRef(described, resource, image)
}

func checkRef(described *Descriptor, resource descriptor.Resource, image *v1beta2.ImageSpec) *Refusal {
	if !strings.HasPrefix(image.Ref, "sha256:") {
		return refuse(ReasonInvalidDescriptor, "component %s: resource %s: access has no sha256 digest",
			described.Component, resource.Name)
	}
	return nil
}
