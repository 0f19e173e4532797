package agreement

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// RecordName is the name of the ConfigMap with the settings of an instance (--managed-by). It is beside the Lease.
func RecordName(managedBy string) string { return "lifecycle-manager-settings" + suffix(managedBy) }

// LeaseName is the name of the Lease of an instance's processes. Instances that share a control plane lead each for
// itself: with one Lease, all but one would wait for ever.
func LeaseName(managedBy string) string {
	return "lifecycle-manager" + suffix(managedBy) + "." + shared.OperatorGroup
}

// suffix distinguishes the instances that share a control plane; the default instance has none. What managed-by says may
// be no name of an object, so it is hashed.
func suffix(managedBy string) string {
	if cmp.Or(managedBy, shared.ManagedByLifecycleManager) == shared.ManagedByLifecycleManager {
		return ""
	}
	sum := sha256.Sum256([]byte(managedBy))
	return fmt.Sprintf("-%x", sum[:4])
}

// IsOfLeader tells whether a record has the settings of the process that holds the Lease. An earlier leader's stay in the
// record until the next one has written its own.
func IsOfLeader(record *corev1.ConfigMap, lease *coordinationv1.Lease, now time.Time) bool {
	spec := lease.Spec
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.AcquireTime == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return false
	}
	if now.Sub(spec.RenewTime.Time) >= time.Duration(*spec.LeaseDurationSeconds)*time.Second {
		return false
	}
	// Both times are of the leader's clock.
	confirmed, err := time.Parse(time.RFC3339Nano, record.Annotations[shared.AnnotationSettingsConfirmed])
	return err == nil && !confirmed.Before(spec.AcquireTime.Time)
}
