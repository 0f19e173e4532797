package sync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

type groupVersionKind = schema.GroupVersionKind

func namespaceKind() groupVersionKind { return corev1.SchemeGroupVersion.WithKind("Namespace") }

func definitionKind() groupVersionKind {
	return apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
}

func ourKind(kind string) groupVersionKind { return v1beta2.GroupVersion.WithKind(kind) }

// catalogKinds are the kinds of the module catalog.
func catalogKinds() []string {
	return []string{shared.KindModuleTemplate, shared.KindModuleReleaseMeta}
}

// listMetadata lists objects without their bodies.
func listMetadata(ctx context.Context, reader client.Reader, gvk groupVersionKind, options ...client.ListOption) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list %ss: %w", gvk.Kind, err)
	}
	for i := range list.Items {
		// The server says only that these are metadata.
		list.Items[i].SetGroupVersionKind(gvk)
	}
	return list.Items, nil
}

// kindMissing tells whether an error says that the cluster does not serve the kind at all, as against an
// object of it that is not there.
func kindMissing(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	if !apierrors.IsNotFound(err) {
		return false
	}
	return apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
