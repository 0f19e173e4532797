package controllers

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// establish accepts the names of a definition, and lets it be served. Names never conflict.
func (m *Manager) establish(ctx context.Context, t task) error {
	client := m.definitions.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := client.Get(ctx, t.key, metav1.GetOptions{})
	if err != nil {
		return err
	}
	names := crd.Spec.Names
	if apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) && sameNames(crd.Status.AcceptedNames, names) {
		return nil
	}
	crd.Status.AcceptedNames = *names.DeepCopy()
	apihelpers.SetCRDCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found",
	})
	apihelpers.SetCRDCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted",
		Message: "the initial names have been accepted",
	})
	for i := range crd.Status.Conditions {
		crd.Status.Conditions[i].LastTransitionTime = m.since
	}
	_, err = client.UpdateStatus(ctx, crd, metav1.UpdateOptions{})
	return err
}

func sameNames(a, b apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}

// emptyDefinition removes the custom resources of a definition that is deleted, and releases it when none remains.
func (m *Manager) emptyDefinition(ctx context.Context, t task) error {
	client := m.definitions.ApiextensionsV1().CustomResourceDefinitions()
	crd, err := client.Get(ctx, t.key, metav1.GetOptions{})
	if err != nil || crd.DeletionTimestamp == nil {
		return err
	}
	at := slices.Index(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	if at < 0 {
		return nil
	}
	const inProgress = "InstanceDeletionInProgress"
	if c := apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating); c == nil || c.Reason != inProgress {
		apihelpers.SetCRDCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: inProgress,
			Message: "CustomResource deletion is in progress",
		})
		if crd, err = client.UpdateStatus(ctx, crd, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	plural, group, _ := strings.Cut(t.key, ".")
	resource := schema.GroupResource{Group: group, Resource: plural}
	if err := m.deleteAll(ctx, t.cluster, resource, ""); err != nil {
		return err
	}
	if len(t.cluster.All(resource, "")) > 0 {
		// The last one that goes leads here again.
		return nil
	}
	crd.Finalizers = slices.Delete(crd.Finalizers, at, at+1)
	_, err = client.UpdateStatus(ctx, crd, metav1.UpdateOptions{})
	return err
}
