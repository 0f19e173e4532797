// Package v1beta2 defines the stored version of Lifecycle Manager's custom
// resources.
//
// Users write three kinds. A Kyma describes one cluster and lists its modules. A
// ModuleTemplate describes one version of a module. A ModuleReleaseMeta assigns
// these versions to channels. A RolloutPolicy and a Watcher are optional.
// Lifecycle Manager writes the others: a Manifest for each module of a Kyma, a
// ModuleRollout for each change of version that a RolloutPolicy covers, a
// RemovalBudget and the RemoteAgents. People edit the spec of a ModuleRollout and
// of a RemovalBudget to approve or to stop something.
//
// The API server also serves v1beta1 and v1alpha1. They have the same schema and
// use the spec and status types of this package, so no conversion webhook is
// needed.
//
// +kubebuilder:object:generate=true
// +groupName=operator.kyma-project.io
// +versionName=v1beta2
package v1beta2

// The field comments are the descriptions in the CRDs (deploy/crds) and in docs/api-reference.md. Run `make generate`
// after you change them.
