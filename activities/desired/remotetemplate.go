package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// A template that the owner of a remote cluster made by hand there is used by their Kyma alone. The
// synchronization takes it in: it keeps a copy in the control plane, in the Kyma's namespace and owned by the
// Kyma, which answers to one key only, that of this Kyma and of the template's place in the remote cluster.
// So it can neither be found by another Kyma nor stand in the way of a template of the control plane.

// AnnotationTakenFrom marks the copy of a hand-made template of a remote cluster. Its value is
// `<namespace>/<name>` of the template there.
const AnnotationTakenFrom = shared.OperatorGroup + "/taken-from"

// remoteKeyPrefix begins every key of RemoteTemplateKey. No name of a module entry begins like this (schema
// of Kyma), so that no Kyma can ask by name for what was taken in for another.
const remoteKeyPrefix = "@remote/"

// TakenFrom returns `<namespace>/<name>` of the hand-made template in the remote cluster that a template of
// the control plane is a copy of; ok is false for any other template.
func TakenFrom(template metav1.Object) (ref string, ok bool) {
	ref, ok = template.GetAnnotations()[AnnotationTakenFrom]
	return ref, ok
}

// RemoteTemplateKey is the only key that a taken-in template answers to: that of the Kyma that it was taken
// in for, and of its place in that Kyma's remote cluster.
func RemoteTemplateKey(kymaUID types.UID, namespace, name string) string {
	return remoteKeyPrefix + string(kymaUID) + "/" + namespace + "/" + name
}

// keysOfTakenIn lists the key of a taken-in template. One without owner serves nobody.
func keysOfTakenIn(template *v1beta2.ModuleTemplate, ref string) []string {
	namespace, name, ok := parseRemoteRef(ref, "")
	owner := metav1.GetControllerOf(template)
	if !ok || namespace == "" || owner == nil || owner.Kind != shared.KindKyma {
		return nil
	}
	return []string{RemoteTemplateKey(owner.UID, namespace, name)}
}

// RemoteRef is the place in the remote cluster of the hand-made template that a module entry asks for by
// `remoteModuleTemplateRef`: `name`, in the remote namespace, or `namespace/name`. It is not ok where the
// entry asks for none or the reference cannot be a name of a ModuleTemplate.
func RemoteRef(module v1beta2.Module, remoteNamespace string) (namespace, name string, ok bool) {
	return parseRemoteRef(module.RemoteModuleTemplateRef, remoteNamespace)
}

// RemoteName is the place in the remote cluster of the hand-made template that a module entry can mean by its
// name, `name` or `namespace/name`, where nothing in the control plane's catalog answers to it.
func RemoteName(module v1beta2.Module, remoteNamespace string) (namespace, name string, ok bool) {
	if module.RemoteModuleTemplateRef != "" {
		return "", "", false
	}
	return parseRemoteRef(module.Name, remoteNamespace)
}

// RemoteKey is the key of the taken-in template that a module entry can mean, by reference or else by name.
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

// maxRemoteName is the length that names of taken-in templates stay within, so that they can be label values.
const maxRemoteName = 63

// TakenInName is the name of the copy of a hand-made template: `<kyma name>-remote-<hash>`, the Kyma's name
// cut where it is too long. The hash is of the Kyma's uid too, for what was taken in for an earlier Kyma of
// the same name is not this one's.
func TakenInName(kyma metav1.Object, namespace, name string) string {
	sum := sha256.Sum256([]byte(RemoteTemplateKey(kyma.GetUID(), namespace, name)))
	suffix := "-remote-" + hex.EncodeToString(sum[:8])
	prefix := kyma.GetName()
	if keep := maxRemoteName - len(suffix); len(prefix) > keep {
		prefix = strings.TrimRight(prefix[:keep], "-.")
	}
	return prefix + suffix
}

// remoteReferences lists the keys of the taken-in templates that the entries of a Kyma can mean. Those of its
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
