package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// kinds returns the names of the schemas of Kubernetes' kinds in stable versions, and the packages that contain them.
// It omits alpha and beta versions, because their rules may change with the next Kubernetes version. It omits
// CustomResourceDefinition, because lint checks it with the API server's own rules.
func kinds() (names, packages []string, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, nil, fmt.Errorf("collect the kinds of Kubernetes: %w", err)
		}
	}
	schemas, folders := map[string]bool{}, map[string]bool{
		// All kinds refer to types of these packages.
		"k8s.io/apimachinery/pkg/api/resource": true,
		"k8s.io/apimachinery/pkg/apis/meta/v1": true,
		"k8s.io/apimachinery/pkg/runtime":      true,
		"k8s.io/apimachinery/pkg/util/intstr":  true,
	}
	for kind, goType := range scheme.AllKnownTypes() {
		named, isKind := reflect.New(goType).Interface().(interface{ OpenAPIModelName() string })
		_, hasMetadata := goType.FieldByName("ObjectMeta")
		if !isKind || !hasMetadata || !strings.HasPrefix(goType.PkgPath(), "k8s.io/") {
			continue
		}
		folders[goType.PkgPath()] = true // also of other versions, whose types stable ones may have
		if !strings.Contains(kind.Version, "alpha") && !strings.Contains(kind.Version, "beta") {
			schemas[named.OpenAPIModelName()] = true
		}
	}
	return slices.Sorted(maps.Keys(schemas)), slices.Sorted(maps.Keys(folders)), nil
}
