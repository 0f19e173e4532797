package cluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
)

// Plan records in a Kyma that its plan decided a Manifest as it is.
func Plan(kyma *v1beta2.Kyma, m *v1beta2.Manifest) {
	kyma.Status.Planned = slices.DeleteFunc(kyma.Status.Planned, func(p v1beta2.PlannedManifest) bool { return p.Name == m.Name })
	kyma.Status.Planned = append(kyma.Status.Planned, planned.Record(m, true))
}

// Planning is a client for tests that make and change Manifests themselves, in the place of a plan: what it writes is
// recorded in the Manifest's Kyma, as package resolve does. Without the record nothing would be installed.
func Planning(c client.Client) client.Client { return planning{c} }

type planning struct{ client.Client }

func (p planning) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := p.Client.Create(ctx, object, options...); err != nil {
		return err
	}
	return p.record(ctx, object)
}

func (p planning) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	if err := p.Client.Update(ctx, object, options...); err != nil {
		return err
	}
	return p.record(ctx, object)
}

func (p planning) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := p.Client.Patch(ctx, object, patch, options...); err != nil {
		return err
	}
	return p.record(ctx, object)
}

func (p planning) record(ctx context.Context, object client.Object) error {
	m, isManifest := object.(*v1beta2.Manifest)
	owner := metav1.GetControllerOf(object)
	if !isManifest || owner == nil {
		return nil
	}
	kyma := &v1beta2.Kyma{}
	err := p.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: owner.Name}, kyma)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Kyma %s/%s to record a plan: %w", m.Namespace, owner.Name, err)
	}
	before := kyma.DeepCopy()
	Plan(kyma, m)
	return p.Status().Patch(ctx, kyma, client.MergeFrom(before))
}
