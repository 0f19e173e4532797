package descriptor

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Part is a resource to install, or a resource that configures the installation, and the location of its blob.
type Part struct {
	// Name is the name of the resource.
	Name string
	// Use is the purpose of the resource.
	Use Use
	// Access is the access of the resource.
	Access Access
	// Registry and Path are `<registry>[/<path>]` and the last segment of the repository that holds the blob, if the
	// access names its own repository. Both are empty if the blob is in the component's repository.
	Registry, Path string
	// Digest is the digest of the blob, with its algorithm.
	Digest string
}

// Contents holds the resources of a component version that Lifecycle Manager uses.
type Contents struct {
	// Install is the only resource to install.
	Install Part
	// Config holds a chart's values, DefaultCR the default custom resource. They may be nil.
	Config, DefaultCR *Part
	// Images are the references of the module's images in this component version. A transfer of the component to
	// another registry rewrites them. They carry the digests from the component.
	Images []string
}

// Contents returns the resources to install. The problems say why they cannot be installed; their paths are in the
// descriptor. Valid content that we do not install has the types Forbidden and NotSupported. Required on the list of
// resources means that there is nothing to install.
func (d *Descriptor) Contents() (Contents, field.ErrorList) {
	var found Contents
	var problems field.ErrorList
	var installable []string
	for i, resource := range d.Resources {
		at := d.schema.resource(i)
		use := resource.Use()
		if use == UseNone {
			if problem := found.addImage(at, resource); problem != nil {
				problems = append(problems, problem)
			}
			continue
		}
		if use == UseKustomize {
			problems = append(problems, field.Forbidden(at.Child("type"), fmt.Sprintf("resource %s: kustomize folders are not supported; "+
				"ship what `kustomize build` prints as a raw-manifest", resource.Name)))
			installable = append(installable, resource.Name)
			continue
		}
		part, problem := partOf(at, resource)
		if problem != nil {
			problems = append(problems, problem)
		}
		switch use {
		case UseConfig:
			problems = append(problems, second(at, use, found.Config)...)
			found.Config = &part
		case UseDefaultCR:
			problems = append(problems, second(at, use, found.DefaultCR)...)
			found.DefaultCR = &part
		default:
			found.Install = part
			installable = append(installable, resource.Name)
		}
	}
	switch {
	case len(installable) == 0:
		problems = append(problems, field.Required(d.schema.resources(), fmt.Sprintf(
			"component %s has nothing to install: no resource of type raw-manifest or helm-chart", d.Component)))
	case len(installable) > 1:
		problems = append(problems, field.Forbidden(d.schema.resources(), fmt.Sprintf(
			"component %s has more than one thing to install: %s", d.Component, strings.Join(installable, ", "))))
	}
	return found, problems
}

// second refuses a second resource for a use that allows only one.
func second(at *field.Path, use Use, first *Part) field.ErrorList {
	if first == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(at, fmt.Sprintf("a second %s: there is already resource %s", use, first.Name))}
}

var sha256Digest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// partOf returns the location of a resource's blob.
func partOf(at *field.Path, resource Resource) (Part, *field.Error) {
	access := resource.Access
	at = at.Child("access")
	part := Part{Name: resource.Name, Use: resource.Use()}
	if global, ok := access.global(); ok {
		global.MediaType = cmp.Or(global.MediaType, access.MediaType)
		access, at = global, at.Child("globalAccess")
	}
	digest, repository := access.Blob()
	part.Digest = digest
	var digestAt, referenceAt *field.Path
	switch access.Kind() {
	case AccessLocalOCIBlob:
		digestAt = at.Child("digest")
	case AccessLocalBlob:
		digestAt = at.Child("localReference")
	case AccessOCIBlob:
		digestAt, referenceAt = at.Child("digest"), at.Child("ref")
	case AccessOCIArtifact:
		digestAt, referenceAt = at.Child("imageReference"), at.Child("imageReference")
		access.MediaType = ArtifactMediaType
	default:
		return part, &field.Error{
			Type: field.ErrorTypeNotSupported, Field: at.Child("type").String(), BadValue: short(access.Type),
			Detail: fmt.Sprintf("resource %s: access type %q is not supported: use localBlob, localOciBlob, ociBlob or ociArtifact", resource.Name, short(access.Type)),
		}
	}
	part.Access = access
	if referenceAt != nil {
		slash := strings.LastIndex(repository, "/")
		if slash <= 0 || slash == len(repository)-1 {
			return part, field.Invalid(referenceAt, short(repository), fmt.Sprintf("resource %s: the reference has no registry and repository", resource.Name))
		}
		part.Registry, part.Path = repository[:slash], repository[slash+1:]
	}
	if !sha256Digest.MatchString(part.Digest) {
		return part, field.Invalid(digestAt, short(part.Digest), fmt.Sprintf("resource %s: access has no sha256 digest", resource.Name))
	}
	return part, nil
}
