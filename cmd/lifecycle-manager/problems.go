package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/tree"
)

// problemsEvery is how often a watch asks whether the instances work.
const problemsEvery = 3 * time.Second

// problems finds out from the control plane alone whether the instances of Lifecycle Manager work there.
type problems struct {
	reader client.Reader
	// now is the time that leader statuses are compared with: the API server's, since this machine's may be wrong.
	now func() time.Time

	asked time.Time
	last  []tree.Problem
}

// of are the problems of the instances with these names, of all without. An instance that says nothing of itself, as
// earlier releases do, has none, and so has one that the caller may not read about.
func (p *problems) of(ctx context.Context, instances []string) ([]tree.Problem, error) {
	if p.asked.IsZero() || time.Since(p.asked) >= problemsEvery {
		last, err := p.read(ctx)
		if err != nil {
			return nil, err
		}
		p.last, p.asked = last, time.Now()
	}
	var found []tree.Problem
	for _, each := range p.last {
		if len(instances) == 0 || slices.Contains(instances, each.Instance) {
			found = append(found, each)
		}
	}
	return found, nil
}

func (p *problems) read(ctx context.Context) ([]tree.Problem, error) {
	records, err := p.records(ctx)
	if err != nil {
		return nil, err
	}
	// An instance whose namespace was changed has two records. The newer one counts.
	newest, beside := map[string]leaderStatus{}, map[string]string{}
	for _, record := range records {
		var read leaderStatus
		if json.Unmarshal([]byte(record.Annotations[shared.AnnotationLeaderStatus]), &read) != nil || read.At.IsZero() {
			continue
		}
		if before, known := newest[read.Instance]; !known || before.At.Before(read.At) {
			newest[read.Instance], beside[read.Instance] = read, record.Namespace
		}
	}
	var found []tree.Problem
	for _, instance := range slices.Sorted(maps.Keys(newest)) {
		if problem, is := p.problemOf(ctx, newest[instance], beside[instance]); is {
			found = append(found, problem)
		}
	}
	return found, nil
}

// records are the metadata of those of all instances, or of what may be read of them.
func (p *problems) records(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	isRecord := client.MatchingLabels{shared.LabelPurpose: agreement.Purpose}
	err := p.reader.List(ctx, list, isRecord)
	if apierrors.IsForbidden(err) {
		err = p.reader.List(ctx, list, isRecord, client.InNamespace(shared.NamespaceControlPlane))
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list the records of Lifecycle Manager's instances: %w", err)
	}
	return list.Items, nil
}

// problemOf is what is wrong with an instance whose record is in a namespace.
func (p *problems) problemOf(ctx context.Context, last leaderStatus, namespace string) (tree.Problem, bool) {
	problem := tree.Problem{Instance: last.Instance, Since: last.Since, Message: last.Problem}
	if p.now().Sub(last.At) >= leaderStatusMissed && !p.isLed(ctx, last.Instance, namespace) {
		problem.Since, problem.Message = last.At, "no process of Lifecycle Manager leads in this control plane"
		if last.Problem != "" {
			problem.Message += ", and the last one said: " + last.Problem
		}
	}
	return problem, problem.Message != ""
}

// isLed tells whether somebody holds the lease of an instance: an earlier release leads without a leader status.
func (p *problems) isLed(ctx context.Context, instance, namespace string) bool {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: namespace, Name: agreement.LeaseName(instance)}
	if err := p.reader.Get(ctx, key, &lease); err != nil {
		return false
	}
	holder, renewed := lease.Spec.HolderIdentity, lease.Spec.RenewTime
	return holder != nil && *holder != "" && renewed != nil && p.now().Sub(renewed.Time) < leaderStatusMissed
}

// instanceOf is the instance that works on an object with these labels.
func instanceOf(labels map[string]string) string {
	return cmp.Or(labels[shared.LabelManagedBy], shared.ManagedByLifecycleManager)
}
