// Package v1beta2 has the stored version of Lifecycle Manager's custom
// resources.
//
// The versions v1beta1 and v1alpha1 are served with the same schema and use the
// spec and status types of this package, so that conversion needs no webhook.
//
// +kubebuilder:object:generate=true
// +groupName=operator.kyma-project.io
// +versionName=v1beta2
package v1beta2
