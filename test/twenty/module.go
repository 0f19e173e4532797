// Package twenty is a module of 20 objects of 10 kinds, for tests that count or cut off what installing one takes:
// a namespace, a definition, accounts and their roles, configuration, Services, Deployments and an admission policy.
package twenty

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// Objects is the number of objects of each version of the module.
	Objects = 20
	// Kinds is the number of their kinds.
	Kinds = 10
	// KindsWithHealth is the number of those kinds whose objects can be there and yet not be ready: the
	// definition and the Deployments.
	KindsWithHealth = 2
)

// Version is one version of the module, as YAML documents in which ID stands for what is unique to a test.
type Version struct {
	Number string
	layer  string
}

// First is the version that tests begin with.
func First() Version {
	return Version{Number: "1.0.0", layer: layer("1.0.0", []string{"one", "two", "three", "four", "five"})}
}

// Changed is a version in which three objects are not what they were in the first: a Role, a ConfigMap and a
// Deployment.
func Changed() Version {
	return Version{Number: "1.1.0", layer: layer("1.1.0", []string{"one", "two", "three", "four", "five"})}
}

// Exchanged changes the same three objects, brings another ConfigMap, and no longer has one of the first version.
func Exchanged() Version {
	return Version{Number: "1.2.0", layer: layer("1.2.0", []string{"one", "two", "three", "four", "six"})}
}

// Layer is the version's raw manifest for a test with this id.
func (v Version) Layer(id string) []byte { return []byte(strings.ReplaceAll(v.layer, "ID", id)) }

// Namespace is the namespace that the module brings.
func Namespace(id string) string { return id + "-module" }

// RemoteNamespace is where the default custom resource lives.
func RemoteNamespace(id string) string { return id + "-remote" }

// Widgets is the resource that the module defines.
func Widgets(id string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: id + ".example.com", Version: "v1", Resource: "widgets"}
}

// DefaultCR is the module's default custom resource.
func DefaultCR(id string) *runtime.RawExtension {
	return &runtime.RawExtension{Raw: fmt.Appendf(nil,
		`{"apiVersion":"%s.example.com/v1","kind":"Widget","metadata":{"name":"default","namespace":"%s"},"spec":{"size":3}}`,
		id, RemoteNamespace(id))}
}

// Manager names the Deployment that serves the custom resources.
func Manager(id string) *v1beta2.Manager {
	manager := &v1beta2.Manager{Namespace: Namespace(id), Name: "operator"}
	manager.Group, manager.Version, manager.Kind = "apps", "v1", "Deployment"
	return manager
}

// Resources are the kinds of the module, as they are listed.
func Resources(id string) []schema.GroupVersionResource {
	of := func(group, version, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
	}
	return []schema.GroupVersionResource{
		of("", "v1", "namespaces"), of("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
		of("", "v1", "serviceaccounts"), of("rbac.authorization.k8s.io", "v1", "roles"),
		of("rbac.authorization.k8s.io", "v1", "rolebindings"), of("", "v1", "configmaps"), of("", "v1", "secrets"),
		of("", "v1", "services"), of("apps", "v1", "deployments"),
		of("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"), Widgets(id),
	}
}

// ClusterScoped are the names of the module's objects that are in no namespace, but for its namespace.
func ClusterScoped(id string) map[schema.GroupVersionResource]string {
	return map[schema.GroupVersionResource]string{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}:           "widgets." + id + ".example.com",
		{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}: id + "-sizes",
	}
}

// layer is a version of the module with ConfigMaps of these names.
func layer(version string, configuration []string) string {
	documents := []string{namespace, definition, policy}
	for _, name := range []string{"operator", "web"} {
		rights := ""
		if name == "operator" && version != "1.0.0" {
			rights = ", watch"
		}
		runs := "1.0.0"
		if name == "operator" {
			runs = version
		}
		documents = append(documents, fmt.Sprintf(account, name), fmt.Sprintf(role, name, rights), fmt.Sprintf(binding, name),
			fmt.Sprintf(secret, name), fmt.Sprintf(service, name), fmt.Sprintf(deployment, name, runs))
	}
	for i, name := range configuration {
		content := "1.0.0"
		if i == 0 {
			content = version
		}
		documents = append(documents, fmt.Sprintf(configMap, name, content))
	}
	return strings.Join(documents, "---\n")
}

const (
	namespace = `apiVersion: v1
kind: Namespace
metadata: {name: ID-module}
`
	definition = `apiVersion: apiextensions.k8s.io/v1
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
	policy = `apiVersion: admissionregistration.k8s.io/v1
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
	account = `apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s, namespace: ID-module}
`
	role = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: ID-module}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list%[2]s]}
`
	binding = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: ID-module}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: ID-module}]
`
	secret = `apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: ID-module}
data: {for: c2VjcmV0}
`
	service = `apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: ID-module}
spec:
  selector: {app: %[1]s}
  ports: [{name: http, port: 80, targetPort: 8080}]
`
	deployment = `apiVersion: apps/v1
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
	configMap = `apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s, namespace: ID-module}
data: {content: %[2]q}
`
)
