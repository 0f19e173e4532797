package storedversions

import (
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// versionsOf returns versions of a definition by name. A * after the name marks the storage version, a - a version that
// is not served.
func versionsOf(names ...string) []apiextensionsv1.CustomResourceDefinitionVersion {
	var all []apiextensionsv1.CustomResourceDefinitionVersion
	for _, name := range names {
		version := apiextensionsv1.CustomResourceDefinitionVersion{Served: true}
		for version.Name = name; ; version.Name = version.Name[:len(version.Name)-1] {
			switch version.Name[len(version.Name)-1] {
			case '*':
				version.Storage = true
				continue
			case '-':
				version.Served = false
				continue
			}
			break
		}
		all = append(all, version)
	}
	return all
}

func TestTheStoredVersionsOfADefinition(t *testing.T) {
	for name, tc := range map[string]struct {
		versions []string
		stored   []string
		older    []string
	}{
		"nothing older":                                               {[]string{"v1beta1", "v1beta2*"}, []string{"v1beta2"}, nil},
		"the version of an earlier generation":                        {[]string{"v1beta1", "v1beta2*"}, []string{"v1beta1", "v1beta2"}, []string{"v1beta1"}},
		"several, in an order of their own":                           {[]string{"v1alpha1", "v1beta1", "v1beta2*"}, []string{"v1beta1", "v1beta2", "v1alpha1"}, []string{"v1alpha1", "v1beta1"}},
		"a newer one, after a roll-back":                              {[]string{"v1beta1*", "v1beta2"}, []string{"v1beta1", "v1beta2"}, []string{"v1beta2"}},
		"one that is served no more":                                  {[]string{"v1beta1-", "v1beta2*"}, []string{"v1beta1", "v1beta2"}, []string{"v1beta1"}},
		"the present version is missing, because nothing was written": {[]string{"v1beta1", "v1beta2*"}, []string{"v1beta1"}, []string{"v1beta1"}},
		"a definition that was just created":                          {[]string{"v1beta2*"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{
				ObjectMeta: metav1.ObjectMeta{Name: "kymas.example.com", ResourceVersion: "7"},
				Spec: apiextensionsv1.CustomResourceDefinitionSpec{
					Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "kymas", Kind: "Kyma"}, Versions: versionsOf(tc.versions...),
				},
				Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: tc.stored},
			}
			d, err := definitionOf(crd)
			require.NoError(t, err)
			storage := "v1beta2"
			if crd.Spec.Versions[0].Storage && len(crd.Spec.Versions) > 1 {
				storage = "v1beta1"
			}
			require.Equal(t, Definition{
				Name: "kymas.example.com", ResourceVersion: "7", Resource: "kymas",
				Kind: schema.GroupVersionKind{Group: "example.com", Version: storage, Kind: "Kyma"}, Older: tc.older,
			}, d)
			require.Equal(t, len(tc.older) == 0, d.Migrated())
		})
	}
}

func TestObjectsCannotBeRewrittenInAVersionThatIsNotServed(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "kymas.example.com"}}
	crd.Spec.Versions = versionsOf("v1beta1", "v1beta2*-")
	_, err := definitionOf(crd)
	require.ErrorContains(t, err, "kymas.example.com does not serve v1beta2")
}

func TestOnlyAFewMissingRightsAreNamed(t *testing.T) {
	require.EqualError(t, &NotAllowedError{Missing: []string{"a", "b"}}, "the account may not a, b")
	require.EqualError(t, &NotAllowedError{Missing: []string{"a", "b", "c", "d", "e"}}, "the account may not a, b, c and 2 more")
}
