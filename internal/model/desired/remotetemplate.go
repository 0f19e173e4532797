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

// Only the Kyma of a remote cluster uses templates that the cluster's owner provides there. The synchronization imports
// such a template: it keeps a copy in the control plane, in the Kyma's namespace and owned by the Kyma. The copy has
// only one key, made from this Kyma and the template's place in the remote cluster. So no other Kyma can find the copy,
// and the copy never hides a template of the control plane.

// AnnotationImportedFrom marks the copy of a user-provided template of a remote cluster. Its value is
// `<namespace>/<name>` of the template there.
const AnnotationImportedFrom = shared.OperatorGroup + "/imported-from"

// remoteKeyPrefix begins every key of RemoteTemplateKey. The Kyma's schema allows no entry name that begins like this,
// so no Kyma can refer by name to a template that was imported for another Kyma.
const remoteKeyPrefix = "@remote/"

// ImportedFrom returns `<namespace>/<name>` of the user-provided template in the remote cluster of which a template in
// the control plane is a copy; ok is false for any other template.
func ImportedFrom(template metav1.Object) (ref string, ok bool) {
	ref, ok = template.GetAnnotations()[AnnotationImportedFrom]
	return ref, ok
}

// RemoteTemplateKey returns the only key of an imported template. It is made from the Kyma that it was imported for and
// from its place in that Kyma's remote cluster.
func RemoteTemplateKey(kymaUID types.UID, namespace, name string) string {
	return remoteKeyPrefix + string(kymaUID) + "/" + namespace + "/" + name
}

// keysOfImported returns the key of an imported template. A template without an owner has no key.
func keysOfImported(template *v1beta2.ModuleTemplate, ref string) []string {
	namespace, name, ok := parseRemoteRef(ref, "")
	owner := metav1.GetControllerOf(template)
	if !ok || namespace == "" || owner == nil || owner.Kind != shared.KindKyma {
		return nil
	}
	return []string{RemoteTemplateKey(owner.UID, namespace, name)}
}

// RemoteRef returns the place in the remote cluster of the user-provided template to which a module entry refers by
// `remoteModuleTemplateRef`: `name`, in the remote namespace, or `namespace/name`. Ok is false if the entry has no
// reference or the reference is not a valid name of a ModuleTemplate.
func RemoteRef(module v1beta2.Module, remoteNamespace string) (namespace, name string, ok bool) {
	return parseRemoteRef(module.RemoteModuleTemplateRef, remoteNamespace)
}

// RemoteName returns the place in the remote cluster of the user-provided template that a module entry may mean by its
// name, `name` or `namespace/name`, if the control plane's catalog has nothing of that name.
func RemoteName(module v1beta2.Module, remoteNamespace string) (namespace, name string, ok bool) {
	if module.RemoteModuleTemplateRef != "" {
		return "", "", false
	}
	return parseRemoteRef(module.Name, remoteNamespace)
}

// RemoteKey returns the key of the imported template that a module entry may mean, by reference or else by name.
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

// maxRemoteName limits the names of imported templates, so that they can be label values.
const maxRemoteName = 63

// ImportedName returns the name of the copy of a user-provided template: `<kyma name>-remote-<hash>`. The Kyma's name
// is cut if it is too long. The hash includes the Kyma's uid, because a template that was imported for an earlier Kyma
// of the same name does not belong to this Kyma.
func ImportedName(kyma metav1.Object, namespace, name string) string {
	sum := sha256.Sum256([]byte(RemoteTemplateKey(kyma.GetUID(), namespace, name)))
	suffix := "-remote-" + hex.EncodeToString(sum[:8])
	prefix := kyma.GetName()
	if keep := maxRemoteName - len(suffix); len(prefix) > keep {
		prefix = strings.TrimRight(prefix[:keep], "-.")
	}
	return prefix + suffix
}

// remoteReferences returns the keys of the imported templates that the entries of a Kyma may mean. If there is a remote
// Kyma, only its entries may count, but more keys do not matter.
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

// Asked says how a module entry refers to a user-provided template of the remote cluster.
type Asked string

const (
	// AskedNot: it does not; the control plane's catalog decides.
	AskedNot Asked = ""
	// AskedByReference: by `remoteModuleTemplateRef`; nothing else counts.
	AskedByReference Asked = "reference"
	// AskedByName: by a name that the control plane's catalog does not have.
	AskedByName Asked = "name"
	// AskedInvalid: by an invalid reference, so nothing matches.
	AskedInvalid Asked = "invalid"
)

// AskedRemote returns whether a module entry refers to a user-provided template, and to which place in the remote
// cluster. It never hides templates of the control plane. Therefore it returns AskedNot for a reference to a place that
// has a copy of the control plane's template, and for a name that the control plane knows. Without a remote cluster,
// remoteNamespace is empty and AskedRemote returns AskedNot.
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

// isOurName reports whether a place in the remote cluster has a synced copy of a template of the control plane.
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

// UserProvided returns the imported templates that a module entry means. Only is true if the entry refers to one by
// reference. Then nothing else may match the entry, even if no template was imported. Otherwise the imported templates
// count only if the control plane's catalog has nothing of that name.
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
