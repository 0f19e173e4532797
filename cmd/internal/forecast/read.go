package forecast

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
)

// Read lists all objects that plans need, with one LIST per kind and namespace.
func Read(ctx context.Context, live client.Reader, namespaces []string) ([]client.Object, error) {
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var all []client.Object
	for _, namespace := range namespaces {
		for _, list := range []client.ObjectList{
			&v1beta2.KymaList{}, &v1beta2.ManifestList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{},
			&v1beta2.ModuleRolloutList{}, &v1beta2.RolloutPolicyList{},
		} {
			if err := live.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return nil, fmt.Errorf("list %T: %w", list, err)
			}
			err := meta.EachListItem(list, func(item runtime.Object) error {
				if object, ok := item.(client.Object); ok {
					all = append(all, object)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// Fill adds objects to a snapshot. Access Secrets are not read. Instead each Kyma gets an empty one, because a plan
// needs only its version, and would wait for a missing Secret.
func (s *Snapshot) Fill(objects []client.Object) {
	for _, object := range objects {
		s.Put(object)
		if kyma, ok := object.(*v1beta2.Kyma); ok {
			secret := fleet.SecretMetadata()
			secret.Name, secret.Namespace = kyma.Name, kyma.Namespace
			secret.Labels = map[string]string{shared.LabelKymaName: kyma.Name}
			s.Put(secret)
		}
	}
}

// ErrUnknown is wrapped by the error for an object of an unsupported kind in a file.
var ErrUnknown = errors.New("files may contain only Kymas, ModuleTemplates, ModuleReleaseMetas, RolloutPolicies and ModuleRollouts")

// Decode parses the objects of a file, as strictly as the API server does. Objects without a namespace get the given
// one.
func Decode(scheme *runtime.Scheme, content []byte, namespace string) ([]client.Object, error) {
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var all []client.Object
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		decoded, kind, err := codecs.UniversalDeserializer().Decode(document, nil, nil)
		switch {
		case runtime.IsNotRegisteredError(err):
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		case err != nil:
			return nil, err
		}
		switch object := decoded.(type) {
		case *v1beta2.Kyma, *v1beta2.ModuleTemplate, *v1beta2.ModuleReleaseMeta, *v1beta2.RolloutPolicy, *v1beta2.ModuleRollout:
			named, _ := object.(client.Object)
			if named.GetNamespace() == "" {
				named.SetNamespace(namespace)
			}
			all = append(all, named)
		default:
			return nil, fmt.Errorf("%w, not %s", ErrUnknown, kind.Kind)
		}
	}
}

// Applied returns an object as it would be after it was applied over the present one. Fields that the API server or
// Lifecycle Manager maintain keep their values.
func Applied(present, object client.Object) client.Object {
	if present == nil {
		if object.GetUID() == "" {
			object.SetUID(uidOfNew(object))
		}
		object.SetGeneration(1)
		return object
	}
	object.SetUID(present.GetUID())
	object.SetGeneration(present.GetGeneration() + 1)
	object.SetCreationTimestamp(present.GetCreationTimestamp())
	object.SetResourceVersion(present.GetResourceVersion())
	object.SetFinalizers(present.GetFinalizers())
	object.SetLabels(labels.Merge(present.GetLabels(), object.GetLabels()))
	object.SetAnnotations(labels.Merge(present.GetAnnotations(), object.GetAnnotations()))
	switch after := object.(type) {
	case *v1beta2.Kyma:
		if before, ok := present.(*v1beta2.Kyma); ok {
			after.Status = before.Status
		}
	case *v1beta2.ModuleRollout:
		if before, ok := present.(*v1beta2.ModuleRollout); ok {
			after.Status = before.Status
		}
	}
	return object
}

// uidOfNew returns the uid for an object that does not exist yet. It decides only about the object's place in rollouts.
func uidOfNew(object client.Object) types.UID {
	return types.UID("new/" + object.GetNamespace() + "/" + object.GetName())
}
