// Real operators, as they are published inside Go modules. Nothing of them is
// compiled: this file and go.sum pin their content, and their charts and
// manifests are read from the module cache. `go mod tidy` would drop them.
module github.com/kyma-project/lifecycle-manager/test/modules/upstream

go 1.26.4

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/metrics-server v0.9.0
)
