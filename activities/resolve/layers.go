package resolve

import (
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Names and types of the resources of a component version that mean something to us (design, section 7,
// and the seeds' Manifest reference). Some are known by their name, others by their type.
const (
	resourceRawManifest = "raw-manifest"
	resourceHelmChart   = "helm-chart"
	resourceConfig      = "config"
	resourceDefaultCR   = "default-cr"
	resourceKustomize   = "kustomize"
	resourceYAML        = "yaml"

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
func layersOf(descriptor *Descriptor, repository string) (layers, *Refusal) {
	var found layers
	var installable []string
	for _, resource := range descriptor.Resources {
		use := useOf(resource)
		if use == "" {
			continue
		}
		if use == resourceKustomize {
			return found, refuse(ReasonUnsupportedLayer, "component %s: resource %s: kustomize folders are not supported; "+
				"render it to a raw-manifest", descriptor.Component, resource.Name)
		}
		image, refusal := imageOf(descriptor, resource, repository)
		if refusal != nil {
			return found, refusal
		}
		switch use {
		case resourceConfig:
			image.Type = v1beta2.ImageSourceOCIRef
			found.config = image
		case resourceDefaultCR:
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
			"component %s has nothing to install: no resource of type raw-manifest or helm-chart", descriptor.Component)
	case 1:
		return found, nil
	default:
		return found, refuse(ReasonUnsupportedLayer, "component %s has more than one thing to install: %s",
			descriptor.Component, strings.Join(installable, ", "))
	}
}

// useOf says what a resource is for; empty for what is only there for people and tools (images, metadata).
func useOf(resource DescribedResource) string {
	switch resource.Name {
	case resourceConfig, resourceDefaultCR, resourceRawManifest:
		return resource.Name
	}
	switch resource.Type {
	case resourceRawManifest, "rawManifest", resourceYAML:
		return resourceRawManifest
	case resourceHelmChart, "helmChart":
		return resourceHelmChart
	case resourceConfig:
		return resourceConfig
	case resourceDefaultCR:
		return resourceDefaultCR
	case resourceKustomize:
		return resourceKustomize
	}
	return ""
}

// sourceType says how the layer is read. A chart whose access does not tell its media type is written as
// the seeds' Manifests have it: `oci-ref`, with the media type to tell it from a YAML file.
func sourceType(use string, access Access) v1beta2.ImageSourceType {
	switch {
	case use == resourceHelmChart && accessKind(access.Type) == "localociblob":
		return v1beta2.ImageSourceOCIRef
	case use == resourceHelmChart:
		return v1beta2.ImageSourceHelmChart
	case strings.Contains(access.MediaType, "tar"):
		return v1beta2.ImageSourceOCIDir
	default:
		return v1beta2.ImageSourceOCIRef
	}
}

// imageOf translates an access into a source: `<repository>/component-descriptors`, the component name,
// and the digest (seeds, `.spec.install`).
func imageOf(descriptor *Descriptor, resource DescribedResource, repository string) (*v1beta2.ImageSpec, *Refusal) {
	access := resource.Access
	image := &v1beta2.ImageSpec{
		Repo:      repository + "/" + componentDescriptors,
		Name:      descriptor.RepositoryName,
		MediaType: access.MediaType,
		Size:      access.Size,
	}
	if image.MediaType == "" && useOf(resource) == resourceHelmChart {
		image.MediaType = chartMediaType
	}
	switch accessKind(access.Type) {
	case "localociblob":
		image.Ref = access.Digest
	case "localblob":
		image.Ref = access.LocalReference
	case "ociblob":
		image.Ref = access.Digest
		reference, _, _ := strings.Cut(access.Reference, "@")
		slash := strings.LastIndex(reference, "/")
		if slash <= 0 {
			return nil, refuse(ReasonUnsupportedLayer, "component %s: resource %s: access.ref %q names no registry",
				descriptor.Component, resource.Name, access.Reference)
		}
		image.Repo, image.Name = reference[:slash], reference[slash+1:]
		return image, checkRef(descriptor, resource, image)
	default:
		return nil, refuse(ReasonUnsupportedLayer, "component %s: resource %s: access type %q is not supported",
			descriptor.Component, resource.Name, access.Type)
	}
	if repository == "" {
		return nil, refuse(ReasonInvalidDescriptor, "component %s: no repositoryContexts say where its resources are",
			descriptor.Component)
	}
	return image, checkRef(descriptor, resource, image)
}

func checkRef(descriptor *Descriptor, resource DescribedResource, image *v1beta2.ImageSpec) *Refusal {
	if !strings.HasPrefix(image.Ref, "sha256:") {
		return refuse(ReasonInvalidDescriptor, "component %s: resource %s: access has no sha256 digest",
			descriptor.Component, resource.Name)
	}
	return nil
}

// accessKind is an access type without version, in lower case, for both spellings are in use.
func accessKind(accessType string) string {
	kind, _, _ := strings.Cut(accessType, "/")
	return strings.ToLower(kind)
}
