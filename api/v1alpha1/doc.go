// Package v1alpha1 has an older version of Lifecycle Manager's custom resources.
// It is served with the schema of v1beta2, which is the version that is stored,
// so that resources written for it work unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=operator.kyma-project.io
// +versionName=v1alpha1
package v1alpha1
