package agreement

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// settingManagedBy is the setting that names the instance.
const settingManagedBy = "managed-by"

// RecordName returns the name of the ConfigMap with the settings of an instance (--managed-by). It is in the namespace
// of the Lease.
func RecordName(managedBy string) string { return "lifecycle-manager-settings" + suffix(managedBy) }

// LeaseName returns the name of the Lease of an instance's processes. Each instance in a shared control plane has its
// own leader. With one Lease, all instances but one would wait forever.
func LeaseName(managedBy string) string {
	return "lifecycle-manager" + suffix(managedBy) + "." + shared.OperatorGroup
}

// suffix distinguishes the instances that share a control plane. The default instance has none. The value of managed-by
// may not be a valid object name, so it is hashed.
func suffix(managedBy string) string {
	if cmp.Or(managedBy, shared.ManagedByLifecycleManager) == shared.ManagedByLifecycleManager {
		return ""
	}
	sum := sha256.Sum256([]byte(managedBy))
	return fmt.Sprintf("-%x", sum[:4])
}

// InstanceOf returns the name (--managed-by) of the instance that a record belongs to.
func InstanceOf(record *corev1.ConfigMap) string {
	return cmp.Or(record.Data[settingManagedBy], shared.ManagedByLifecycleManager)
}

// InstanceFor returns the name (--managed-by) of the instance that works on an object with these labels.
func InstanceFor(labels map[string]string) string {
	return cmp.Or(labels[shared.LabelManagedBy], shared.ManagedByLifecycleManager)
}

// IsHeld reports whether a process holds a Lease and has renewed it within this time.
func IsHeld(lease *coordinationv1.Lease, now time.Time, within time.Duration) bool {
	holder, renewed := lease.Spec.HolderIdentity, lease.Spec.RenewTime
	return holder != nil && *holder != "" && renewed != nil && now.Sub(renewed.Time) < within
}

// IsOfLeader reports whether a record has the settings of the process that holds the Lease. The settings of an earlier
// leader stay in the record until the next leader has written its own.
func IsOfLeader(record *corev1.ConfigMap, lease *coordinationv1.Lease, now time.Time) bool {
	acquired, seconds := lease.Spec.AcquireTime, lease.Spec.LeaseDurationSeconds
	if acquired == nil || seconds == nil || !IsHeld(lease, now, time.Duration(*seconds)*time.Second) {
		return false
	}
	// Both times come from the leader's clock.
	at := confirmed(record)
	return !at.IsZero() && !at.Before(acquired.Time)
}

// Records returns the records of all instances that the caller may read. If there may be other records, unread is the
// reason why the caller may not list them.
func Records(ctx context.Context, reader client.Reader) (records []corev1.ConfigMap, unread, err error) {
	var list corev1.ConfigMapList
	isRecord := client.MatchingLabels{shared.LabelPurpose: Purpose}
	err = reader.List(ctx, &list, isRecord)
	if apierrors.IsForbidden(err) {
		unread = err
		err = reader.List(ctx, &list, isRecord, client.InNamespace(shared.NamespaceControlPlane))
	}
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, unread, fmt.Errorf("list the records of Lifecycle Manager's instances: %w", err)
	}
	return list.Items, unread, nil
}

// Find returns the record of an instance; nil if there is none. Without a namespace, it searches all namespaces that
// the caller may read. Of several records, as after a move, it returns the one that was confirmed last.
func Find(ctx context.Context, reader client.Reader, namespace, managedBy string) (*corev1.ConfigMap, error) {
	if namespace != "" {
		return readRecord(ctx, reader, client.ObjectKey{Namespace: namespace, Name: RecordName(managedBy)})
	}
	records, unread, err := Records(ctx, reader)
	if err != nil {
		return nil, err
	}
	var newest *corev1.ConfigMap
	for i := range records {
		if records[i].Name == RecordName(managedBy) && (newest == nil || confirmed(newest).Before(confirmed(&records[i]))) {
			newest = &records[i]
		}
	}
	if newest == nil && unread != nil {
		return readRecord(ctx, reader, client.ObjectKey{Namespace: shared.NamespaceControlPlane, Name: RecordName(managedBy)})
	}
	return newest, nil
}

func readRecord(ctx context.Context, reader client.Reader, key client.ObjectKey) (*corev1.ConfigMap, error) {
	record := &corev1.ConfigMap{}
	err := reader.Get(ctx, key, record)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings of the instance in ConfigMap %s: %w", key, err)
	}
	return record, nil
}

// confirmed returns when a leader confirmed the settings in a record; zero for records of earlier releases.
func confirmed(record *corev1.ConfigMap) time.Time {
	at, err := time.Parse(time.RFC3339Nano, record.Annotations[shared.AnnotationSettingsConfirmed])
	if err != nil {
		return time.Time{}
	}
	return at
}
