package harness

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// TwentyObjects is the number of objects of each version of the module.
	TwentyObjects = 20
	// TwentyKinds is the number of their kinds.
	TwentyKinds = 10
	// TwentyKindsWithHealth is the number of those kinds whose objects can be there and yet not be ready: the
	// definition and the Deployments.
	TwentyKindsWithHealth = 2
)

// Twenty is the id of an installation of the module of 20 objects of 10 kinds, for tests that count or cut off what
// installing one takes: a namespace, a definition, accounts and their roles, configuration, Services, Deployments and
// an admission policy. All its names begin with the id, so that many of them fit into one cluster.
type Twenty string

// TwentyVersion is one version of the module, as YAML documents in which ID stands for what is unique to a test.
type TwentyVersion struct {
	Number string
	layer  string
}

// TwentyFirst is the version that tests begin with.
func TwentyFirst() TwentyVersion {
	return TwentyVersion{Number: "1.0.0", layer: twentyLayer("1.0.0", []string{"one", "two", "three", "four", "five"})}
}

// TwentyChanged is a version in which three objects are not what they were in the first: a Role, a ConfigMap and a
// Deployment.
func TwentyChanged() TwentyVersion {
	return TwentyVersion{Number: "1.1.0", layer: twentyLayer("1.1.0", []string{"one", "two", "three", "four", "five"})}
}

// TwentyExchanged changes the same three objects, brings another ConfigMap, and no longer has one of the first version.
func TwentyExchanged() TwentyVersion {
	return TwentyVersion{Number: "1.2.0", layer: twentyLayer("1.2.0", []string{"one", "two", "three", "four", "six"})}
}

// Layer is the version's raw manifest for a test with this id.
func (v TwentyVersion) Layer(id string) []byte { return []byte(strings.ReplaceAll(v.layer, "ID", id)) }

// Namespace is the namespace that the module brings.
func (id Twenty) Namespace() string { return string(id) + "-module" }

// RemoteNamespace is where the default custom resource lives.
func (id Twenty) RemoteNamespace() string { return string(id) + "-remote" }

// Widgets is the resource that the module defines.
func (id Twenty) Widgets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: string(id) + ".example.com", Version: "v1", Resource: "widgets"}
}

// DefaultCR is the module's default custom resource.
func (id Twenty) DefaultCR() *runtime.RawExtension {
	return &runtime.RawExtension{Raw: fmt.Appendf(nil,
		`{"apiVersion":"%s.example.com/v1","kind":"Widget","metadata":{"name":"default","namespace":"%s"},"spec":{"size":3}}`,
		id, id.RemoteNamespace())}
}

// Manager names the Deployment that serves the custom resources.
func (id Twenty) Manager() *v1beta2.Manager {
	manager := &v1beta2.Manager{Namespace: id.Namespace(), Name: "operator"}
	manager.Group, manager.Version, manager.Kind = "apps", "v1", "Deployment"
	return manager
}

// Resources are the kinds of the module, as they are listed.
func (id Twenty) Resources() []schema.GroupVersionResource {
	of := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	return []schema.GroupVersionResource{
		of("", "v1", "namespaces"), of("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
		of("", "v1", "serviceaccounts"), of("rbac.authorization.k8s.io", "v1", "roles"),
		of("rbac.authorization.k8s.io", "v1", "rolebindings"), of("", "v1", "configmaps"), of("", "v1", "secrets"),
		of("", "v1", "services"), of("apps", "v1", "deployments"),
		of("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"), id.Widgets(),
	}
}

// ClusterScoped are the names of the module's objects that are in no namespace, but for its namespace.
func (id Twenty) ClusterScoped() map[schema.GroupVersionResource]string {
	return map[schema.GroupVersionResource]string{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}:           "widgets." + string(id) + ".example.com",
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}: string(id) + "-sizes",
	}
}

// twentyLayer is a version of the module with ConfigMaps of these names.
func twentyLayer(version string, configuration []string) string {
	documents := []string{twentyNamespace, twentyDefinition, twentyPolicy}
	for _, name := range []string{"operator", "web"} {
		rights := ""
		if name == "operator" && version != "1.0.0" {
			rights = ", watch"
		}
		runs := "1.0.0"
		if name == "operator" {
			runs = version
		}
		documents = append(documents, fmt.Sprintf(twentyAccount, name), fmt.Sprintf(twentyRole, name, rights), fmt.Sprintf(twentyBinding, name),
			fmt.Sprintf(twentySecret, name), fmt.Sprintf(twentyService, name), fmt.Sprintf(twentyDeployment, name, runs))
	}
	for i, name := range configuration {
		content := "1.0.0"
		if i == 0 {
			content = version
		}
		documents = append(documents, fmt.Sprintf(twentyConfigMap, name, content))
	}
	return strings.Join(documents, "---\n")
}

const (
	twentyNamespace = `apiVersion: v1
kind: Namespace
metadata: {name: ID-module}
`
	twentyDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.ID.example.com}
spec:
  group: ID.example.com
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, properties: {state: {type: string}}}
`
	twentyPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: ID-sizes}
spec:
  failurePolicy: Ignore
  matchConstraints:
    resourceRules:
    - {apiGroups: [ID.example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [widgets]}
  validations:
  - {expression: "object.spec.size < 1000"}
`
	twentyAccount = `apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s, namespace: ID-module}
`
	twentyRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: ID-module}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list%[2]s]}
`
	twentyBinding = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: ID-module}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: ID-module}]
`
	twentySecret = `apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: ID-module}
data: {for: c2VjcmV0}
`
	twentyService = `apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: ID-module}
spec:
  selector: {app: %[1]s}
  ports: [{name: http, port: 80, targetPort: 8080}]
`
	twentyDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: ID-module}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      serviceAccountName: %[1]s
      containers:
      - name: %[1]s
        image: example.com/%[1]s:%[2]s
`
	twentyConfigMap = `apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s, namespace: ID-module}
data: {content: %[2]q}
`
)
