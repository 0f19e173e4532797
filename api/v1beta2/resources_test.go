package v1beta2_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestSchemeKnowsEveryKind(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	for _, name := range []string{"Kyma", "ModuleTemplate", "Manifest", "Watcher", "ModuleReleaseMeta"} {
		for _, kind := range []string{name, name + "List"} {
			gvk := schema.GroupVersionKind{Group: "operator.kyma-project.io", Version: "v1beta2", Kind: kind}
			require.True(t, scheme.Recognizes(gvk), gvk)
		}
	}
}

func TestEffectiveChannel(t *testing.T) {
	cases := []struct {
		name   string
		kyma   string
		module v1beta2.Module
		want   string
	}{
		{"the module's channel wins", "fast", v1beta2.Module{Channel: "alpha"}, "alpha"},
		{"a module without a channel follows its Kyma", "fast", v1beta2.Module{}, "fast"},
		{"a Kyma without a channel means regular", "", v1beta2.Module{}, "regular"},
		{"a pinned module is in no channel", "fast", v1beta2.Module{Version: "1.2.3"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			spec := v1beta2.KymaSpec{Channel: c.kyma}
			require.Equal(t, c.want, c.module.EffectiveChannel(spec.EffectiveChannel()))
		})
	}
}

func TestModuleDefaultsApplyWithoutSchema(t *testing.T) {
	no, yes := false, true
	require.True(t, (&v1beta2.Module{}).IsManaged())
	require.True(t, (&v1beta2.Module{Managed: &yes}).IsManaged())
	require.False(t, (&v1beta2.Module{Managed: &no}).IsManaged())

	require.EqualValues(t, "CreateAndDelete", (&v1beta2.Module{}).EffectivePolicy())
	require.EqualValues(t, "Ignore", (&v1beta2.Module{CustomResourcePolicy: "Ignore"}).EffectivePolicy())
	require.EqualValues(t, "CreateAndDelete", (&v1beta2.ManifestSpec{}).EffectivePolicy())
	require.EqualValues(t, "Ignore", (&v1beta2.ManifestSpec{CustomResourcePolicy: "Ignore"}).EffectivePolicy())
}

// Unset and false mean different things in sync, so an unset boolean must stay unset after encoding and decoding.
func TestSyncBooleansStayUnset(t *testing.T) {
	no := false
	content, err := json.Marshal(v1beta2.Sync{Enabled: &no})
	require.NoError(t, err)
	require.JSONEq(t, `{"enabled": false}`, string(content))

	var read v1beta2.Sync
	require.NoError(t, json.Unmarshal(content, &read))
	require.NotNil(t, read.Enabled)
	require.Nil(t, read.NoModuleCopy)
	require.Nil(t, read.ModuleCatalog)
}

func TestKymaLabels(t *testing.T) {
	kyma := v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{
			"operator.kyma-project.io/skip-reconciliation": "true",
			"operator.kyma-project.io/internal":            "true",
			"operator.kyma-project.io/beta":                "true",
			"kyma-project.io/runtime-id":                   "runtime",
			"kyma-project.io/global-account-id":            "account",
			"kyma-project.io/subaccount-id":                "subaccount",
			"kyma-project.io/region":                       "region",
			"kyma-project.io/platform-region":              "platform",
			"kyma-project.io/broker-plan-name":             "plan",
			"kyma-project.io/instance-id":                  "instance",
		},
		Annotations: map[string]string{"skr-domain": "example.com"},
	}}
	require.True(t, kyma.IsSkipReconciliation())
	require.True(t, kyma.IsInternal())
	require.True(t, kyma.IsBeta())
	require.Equal(t, "runtime", kyma.RuntimeID())
	require.Equal(t, "account", kyma.GlobalAccountID())
	require.Equal(t, "subaccount", kyma.SubAccountID())
	require.Equal(t, "region", kyma.Region())
	require.Equal(t, "platform", kyma.PlatformRegion())
	require.Equal(t, "plan", kyma.BrokerPlanName())
	require.Equal(t, "instance", kyma.InstanceID())
	require.Equal(t, "example.com", kyma.SKRDomain())

	var bare v1beta2.Kyma
	require.False(t, bare.IsSkipReconciliation())
	require.False(t, bare.IsInternal())
	require.False(t, bare.IsBeta())

	bare.Labels = map[string]string{"operator.kyma-project.io/skip-reconciliation": "yes"}
	require.False(t, bare.IsSkipReconciliation(), `only "true" counts`)
}

func TestManifestLabelsAndAnnotations(t *testing.T) {
	manifest := v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{
			"operator.kyma-project.io/kyma-name":           "my-kyma",
			"operator.kyma-project.io/module-name":         "keda",
			"operator.kyma-project.io/skip-reconciliation": "true",
			"operator.kyma-project.io/mandatory-module":    "true",
		},
		Annotations: map[string]string{
			"operator.kyma-project.io/fqdn":         "kyma-project.io/module/old",
			"operator.kyma-project.io/is-unmanaged": "true",
		},
	}}
	require.Equal(t, "my-kyma", manifest.KymaName())
	require.Equal(t, "keda", manifest.ModuleName())
	require.True(t, manifest.IsSkipReconciliation())
	require.True(t, manifest.IsMandatory())
	require.True(t, manifest.IsUnmanaged())
	require.Equal(t, "kyma-project.io/module/old", manifest.ComponentName(), "written by the older generation")

	manifest.Annotations["operator.kyma-project.io/ocm-component-name"] = "kyma-project.io/module/keda"
	require.Equal(t, "kyma-project.io/module/keda", manifest.ComponentName())

	var bare v1beta2.Manifest
	require.False(t, bare.IsSkipReconciliation())
	require.False(t, bare.IsMandatory())
	require.False(t, bare.IsUnmanaged())
	require.Empty(t, bare.ComponentName())
}

func TestDefaultCR(t *testing.T) {
	raw := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	cases := []struct {
		name string
		data *runtime.RawExtension
		want string // "" means none
	}{
		{"not given", nil, ""},
		{"null", raw("null"), ""},
		{"an empty object, as templates of the older generation have", raw("{}"), ""},
		{
			"whole numbers stay whole, and the status is dropped",
			raw(`{"apiVersion":"a/v1","kind":"Keda","spec":{"port":9007199254740993},"status":{"state":"Ready"}}`),
			`{"apiVersion":"a/v1","kind":"Keda","spec":{"port":9007199254740993}}`,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			template, err := (&v1beta2.ModuleTemplateSpec{Data: c.data}).DefaultCR()
			require.NoError(t, err)
			manifest, err := (&v1beta2.ManifestSpec{Resource: c.data}).DefaultCR()
			require.NoError(t, err)
			require.Equal(t, template, manifest)
			if c.want == "" {
				require.Nil(t, template)
				return
			}
			content, err := json.Marshal(template.Object)
			require.NoError(t, err)
			require.Equal(t, c.want, string(content))
		})
	}
}

func TestDefaultCRMustBeAnObject(t *testing.T) {
	for name, text := range map[string]string{
		"a list":              `[]`,
		"no JSON":             `{`,
		"without a kind":      `{"apiVersion":"a/v1"}`,
		"without an API":      `{"kind":"Keda"}`,
		"with a kind of null": `{"apiVersion":"a/v1","kind":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			spec := v1beta2.ModuleTemplateSpec{Data: &runtime.RawExtension{Raw: []byte(text)}}
			_, err := spec.DefaultCR()
			require.ErrorIs(t, err, v1beta2.ErrDefaultCR)
		})
	}
}

// A LIST fails as a whole if one template cannot be decoded.
func TestTemplateWithEmptyDataCanBeDecoded(t *testing.T) {
	var list v1beta2.ModuleTemplateList
	require.NoError(t, json.Unmarshal([]byte(
		`{"items":[{"metadata":{"name":"a"},"spec":{"data":{},"descriptor":{}}},{"metadata":{"name":"b"}}]}`), &list))
	require.Len(t, list.Items, 2)
}

func TestLastOperationKeepsItsTimeWhileItStaysTheSame(t *testing.T) {
	first := metav1.NewTime(time.Date(2026, 11, 20, 23, 42, 0, 0, time.UTC))
	later := metav1.NewTime(first.Add(time.Minute))

	operation := v1beta2.NextLastOperation(nil, "started processing", first)
	require.Equal(t, &v1beta2.LastOperation{Operation: "started processing", LastUpdateTime: first}, operation)
	require.Equal(t, operation, v1beta2.NextLastOperation(operation, "started processing", later))
	require.Equal(t, &v1beta2.LastOperation{Operation: "kyma is ready", LastUpdateTime: later},
		v1beta2.NextLastOperation(operation, "kyma is ready", later))
}

func TestHintChangesNeitherOperationNorTime(t *testing.T) {
	first := metav1.NewTime(time.Date(2026, 11, 20, 23, 42, 0, 0, time.UTC))
	later := metav1.NewTime(first.Add(time.Minute))

	operation := v1beta2.NextLastOperation(nil, "access secret not found", first).WithHint("create it")
	require.Equal(t, &v1beta2.LastOperation{Operation: "access secret not found", Hint: "create it", LastUpdateTime: first}, operation)
	other := v1beta2.NextLastOperation(operation, "access secret not found", later).WithHint("label it")
	require.Equal(t, &v1beta2.LastOperation{Operation: "access secret not found", Hint: "label it", LastUpdateTime: first}, other)
	require.Empty(t, v1beta2.NextLastOperation(operation, "access secret not found", later).Hint, "a new operation has no hint")
	require.Equal(t, "create it", operation.Hint, "WithHint must not change its receiver")
}
