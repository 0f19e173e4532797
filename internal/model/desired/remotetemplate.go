package desired

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// A template that the owner of a remote cluster provides there is used by their Kyma alone. The
// synchronization imports it: it keeps a copy in the control plane, in the Kyma's namespace and owned by the
// Kyma, which answers to one key only, that of this Kyma and of the template's place in the remote cluster.
// So it can neither be found by another Kyma nor stand in the way of a template of the control plane.

// AnnotationImportedFrom marks the copy of a user-provided template of a remote cluster. Its value is
// `<namespace>/<name>` of the template there.
const AnnotationImportedFrom = shared.OperatorGroup + "/imported-from"

// remoteKeyPrefix begins every key of RemoteTemplateKey. No name of a module entry begins like this (schema
// of Kyma), so that no Kyma can ask by name for what was imported for another.
const remoteKeyPrefix = "@remote/"

// ImportedFrom returns `<namespace>/<name>` of the user-provided template in the remote cluster that a template of
// the control plane is a copy of; ok is false for any other template.
func ImportedFrom(template metav1.Object) (ref string, ok bool) {
	ref, ok = template.GetAnnotations()[AnnotationImportedFrom]
	return ref, ok
}

// RemoteTemplateKey is the only key that an imported template answers to: that of the Kyma that it was
// imported for, and of its place in that Kyma's remote cluster.
func RemoteTemplateKey(kymaUID types.UID, namespace, name string) string {
	return remoteKeyPrefix + string(kymaUID) + "/" + namespace + "/" + name
}

// keysOfImported lists the key of an imported template. One without owner serves nobody.
func keysOfImported(template *v1beta2.ModuleTemplate, ref string) []string {
	namespace, name, ok := parseRemoteRef(ref, "")
	owner := metav1.GetControllerOf(template)
	if !ok || namespace == "" || owner == nil || owner.Kind != shared.KindKyma {
		return nil
	}
	return []string{RemoteTemplateKey(owner.UID, namespace, name)}
}

// RemoteRef is the place in the remote cluster of the user-provided template that a module entry asks for by
// `remoteModuleTemplateRef`: `name`, in the remote namespace, or `namespace/name`. It is not ok where the
// entry asks for none or the reference cannot be a name of a ModuleTemplate.
func RemoteRef(module v1beta2.Module, remoteNamespace string) (namespace, name string, ok bool) {
	return parseRemoteRef(module.RemoteModuleTemplateRef, remoteNamespace)
}

// RemoteName is the place in the remote cluster of the user-provided template that a module entry can mean by its
// name, `name` or `namespace/name`, where nothing in the control plane's catalog answers to it.
func RemoteName(module v1beta2.Module, remoteNamespace string) (namespace, name string, ok bool) {
	if module.RemoteModuleTemplateRef != "" {
		return "", "", false
	}
	return parseRemoteRef(module.Name, remoteNamespace)
}

// RemoteKey is the key of the imported template that a module entry can mean, by reference or else by name.
func RemoteKey(kymaUID types.UID, module v1beta2.Module, remoteNamespace string) (key string, ok bool) {
	namespace, name, ok := RemoteRef(module, remoteNamespace)
	if !ok {
		namespace, name, ok = RemoteName(module, remoteNamespace)
	}
	if !ok {
		return "", false
	}
	return RemoteTemplateKey(kymaUID, namespace, name), true
}

func parseRemoteRef(ref, remoteNamespace string) (namespace, name string, ok bool) {
	namespace, name, qualified := strings.Cut(ref, "/")
	if !qualified {
		namespace, name = remoteNamespace, ref
	}
	if qualified && len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

// maxRemoteName is the length that names of imported templates stay within, so that they can be label values.
const maxRemoteName = 63

// ImportedName is the name of the copy of a user-provided template: `<kyma name>-remote-<hash>`, the Kyma's name
// cut where it is too long. The hash is of the Kyma's uid too, for what was imported for an earlier Kyma of
// the same name is not this one's.
func ImportedName(kyma metav1.Object, namespace, name string) string {
	sum := sha256.Sum256([]byte(RemoteTemplateKey(kyma.GetUID(), namespace, name)))
	suffix := "-remote-" + hex.EncodeToString(sum[:8])
	prefix := kyma.GetName()
	if keep := maxRemoteName - len(suffix); len(prefix) > keep {
		prefix = strings.TrimRight(prefix[:keep], "-.")
	}
	return prefix + suffix
}

// remoteReferences lists the keys of the imported templates that the entries of a Kyma can mean. Those of its
// remote side decide where it has one, but asking for too many costs nothing.
func remoteReferences(kyma *v1beta2.Kyma) []string {
	remote := kyma.Status.Remote
	if remote == nil {
		return nil
	}
	var keys []string
	for _, modules := range [][]v1beta2.Module{kyma.Spec.Modules, remote.Modules} {
		for _, module := range modules {
			if key, ok := RemoteKey(kyma.UID, module, remote.Namespace); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Asked says how a module entry asks for a user-provided template of the remote cluster.
type Asked string

const (
	// AskedNot: it does not; the control plane's catalog answers.
	AskedNot Asked = ""
	// AskedByReference: by `remoteModuleTemplateRef`, so that nothing else answers.
	AskedByReference Asked = "reference"
	// AskedByName: by its name, which nothing in the control plane's catalog answers to.
	AskedByName Asked = "name"
	// AskedInvalid: by a reference that cannot be one, so that nothing answers.
	AskedInvalid Asked = "invalid"
)

// AskedRemote says whether and where in the remote cluster a module entry asks for a user-provided template. The
// control plane's own are never shadowed: a reference to a place that one of them is synced to, or that one
// of their copies is at, asks for nothing there, and so does a name that the control plane knows. Without
// remote side, remoteNamespace is empty and nothing is asked.
func AskedRemote(ctx context.Context, index Index, settings Settings, module v1beta2.Module, remoteNamespace string) (
	namespace, name string, asked Asked, err error,
) {
	if remoteNamespace == "" {
		return "", "", AskedNot, nil
	}
	if module.RemoteModuleTemplateRef != "" {
		namespace, name, ok := RemoteRef(module, remoteNamespace)
		if !ok {
			return "", "", AskedInvalid, nil
		}
		ours, err := isOurName(ctx, index, settings, namespace, name, remoteNamespace)
		if err != nil || ours {
			return "", "", AskedNot, err
		}
		return namespace, name, AskedByReference, nil
	}
	namespace, name, ok := RemoteName(module, remoteNamespace)
	if !ok {
		return "", "", AskedNot, nil
	}
	templates, err := index.Templates(ctx, module.Name)
	if err != nil || len(templates) > 0 {
		return "", "", AskedNot, err
	}
	metas, err := index.ReleaseMetas(ctx, module.Name)
	if err != nil || len(metas) > 0 {
		return "", "", AskedNot, err
	}
	ours, err := isOurName(ctx, index, settings, namespace, name, remoteNamespace)
	if err != nil || ours {
		return "", "", AskedNot, err
	}
	return namespace, name, AskedByName, nil
}

// isOurName tells whether a place in the remote cluster is that of a copy of a template of the control plane.
func isOurName(ctx context.Context, index Index, settings Settings, namespace, name, remoteNamespace string) (bool, error) {
	if namespace != remoteNamespace {
		return false, nil
	}
	templates, err := index.Templates(ctx, name)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(templates, func(template *v1beta2.ModuleTemplate) bool {
		return template.Name == name && settings.Ours(template.Labels)
	}), nil
}

// UserProvided returns the imported templates that a module entry means. With only, nothing else may answer for
// the entry, also where none was imported: it asks for one by reference. Without, they answer where the
// control plane's catalog has nothing.
func UserProvided(ctx context.Context, index Index, settings Settings, kymaUID types.UID, module v1beta2.Module, remoteNamespace string) (
	templates []*v1beta2.ModuleTemplate, only bool, err error,
) {
	namespace, name, asked, err := AskedRemote(ctx, index, settings, module, remoteNamespace)
	switch {
	case err != nil || asked == AskedNot:
		return nil, false, err
	case asked == AskedInvalid:
		return nil, true, nil
	}
	found, err := index.Templates(ctx, RemoteTemplateKey(kymaUID, namespace, name))
	if err != nil {
		return nil, false, err
	}
	templates = append(templates, lists.Filter(found, func(template *v1beta2.ModuleTemplate) bool {
		return settings.Ours(template.Labels) && template.DeletionTimestamp.IsZero()
	})...)
	return templates, asked == AskedByReference, nil
}
