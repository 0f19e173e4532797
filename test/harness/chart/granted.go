package chart

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chartutil"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/test/rights/granted"
)

// keysNamespace is where keys of signatures are, and the Secrets to pull with.
const keysNamespace = "kcp-system"

// Granted are the accounts of the release and what they get by its objects. That it is just what the objects say is checked.
func (r Release) Granted(t testing.TB, objects []*unstructured.Unstructured) []granted.Account {
	t.Helper()
	values, ok := r.values(t)["Values"].(chartutil.Values)
	require.True(t, ok)
	at := func(path string) any {
		value, err := values.PathValue(path)
		require.NoError(t, err)
		return value
	}
	namespaces := map[string][]string{rights.ScopeRelease: {r.Namespace}, rights.ScopeKeys: {keysNamespace}, rights.ScopeIstio: {setting(values, "istio-namespace", "istio-system")}}
	for _, namespace := range at("namespaces").([]any) { //nolint:forcetypeassert,errcheck // the schema says so
		namespaces[rights.ScopeNamespaces] = append(namespaces[rights.ScopeNamespaces], fmt.Sprint(namespace))
	}
	if access := fmt.Sprint(at("accessSecretNamespace")); access != "" && !slices.Contains(namespaces[rights.ScopeNamespaces], access) {
		namespaces[rights.ScopeAccessSecrets] = []string{access}
	}
	var features []string
	for feature, on := range map[string]bool{
		rights.Webhook: at("webhook.enabled") == true, rights.MetricsSecure: at("metrics.secure") == true, rights.Signatures: at("signaturePolicy") != "ignore",
		rights.InjectedSecrets: setting(values, "inject-data-from-kcp-modules", "[deployer]") != "[]",
		rights.ImagePullSecret: at("imagePullSecretForClusters") != "", rights.RegistrySecret: at("registry.credentialsSecret") != "", rights.StoredVersions: at("crds.migrateStoredVersions") == true,
	} {
		if on {
			features = append(features, feature)
		}
	}
	features = append(features, featuresOfEvents(values)...)
	slices.Sort(features)
	var accounts []granted.Account
	for _, object := range objects {
		if object.GetKind() != "ServiceAccount" {
			continue
		}
		roles, full := []string{rights.Watchers, rights.Workers}, object.GetName()
		if at("shape") == "split" {
			var suffix string
			full, suffix = cut(object.GetName())
			roles = []string{suffix}
		}
		account := granted.Account{
			User:       "system:serviceaccount:" + r.Namespace + ":" + object.GetName(),
			Instance:   rights.Instance{Roles: roles, Features: features, Names: r.names(values, full)},
			Namespaces: namespaces,
		}
		account.Everything = isWhatObjectsSay(t, account, object.GetName(), objects)
		accounts = append(accounts, account)
	}
	require.NotEmpty(t, accounts)
	return accounts
}

// setting is a flag that is given under settings, or its default.
func setting(values chartutil.Values, name, byDefault string) string {
	if given, err := values.PathValue("settings." + name); err == nil {
		return fmt.Sprint(given)
	}
	return byDefault
}

// featuresOfEvents are those that events from remote clusters need.
func featuresOfEvents(values chartutil.Values) []string {
	routing := setting(values, "watcher-routing", "none")
	if routing == "none" {
		return nil
	}
	features := []string{rights.Watching}
	if routing == "istio" {
		features = append(features, rights.IstioRouting)
	}
	switch setting(values, "cert-management", "self") {
	case "cert-manager.io/v1":
		features = append(features, rights.CertManager)
	case "cert.gardener.cloud/v1alpha1":
		features = append(features, rights.GardenerCertificates)
	}
	return features
}

// cut splits the name of an account of one role.
func cut(name string) (full, role string) {
	if full, found := strings.CutSuffix(name, "-watchers"); found {
		return full, rights.Watchers
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, "-former"), "-workers"), rights.Workers
}

// names are the names that the list of rights leaves open.
func (r Release) names(values chartutil.Values, full string) map[string]string {
	suffix := ""
	if managedBy, err := values.PathValue("settings.managed-by"); err == nil && managedBy != "lifecycle-manager" {
		suffix = fmt.Sprintf("-%x", sha256.Sum256(fmt.Append(nil, managedBy)))[:9]
	}
	text := func(path string) string {
		value, err := values.PathValue(path)
		if err != nil {
			return ""
		}
		return fmt.Sprint(value)
	}
	return map[string]string{
		"settings": "lifecycle-manager-settings" + suffix, "lease": "lifecycle-manager" + suffix + ".operator.kyma-project.io",
		"webhook": full + "-webhook", "webhookSecret": full + "-webhook-tls",
		"imagePullSecret": text("imagePullSecretForClusters"), "registrySecret": text("registry.credentialsSecret"),
	}
}

// isWhatObjectsSay requires that roles give an account the rights that are recorded, and tells whether it is bound to
// cluster-admin besides.
func isWhatObjectsSay(t testing.TB, account granted.Account, name string, objects []*unstructured.Unstructured) (everything bool) {
	t.Helper()
	all, err := rights.All()
	require.NoError(t, err)
	recorded, bound := map[string][]rbacv1.PolicyRule{}, map[string][]rbacv1.PolicyRule{}
	for _, right := range all {
		resolved, applies, err := right.In(account.Instance)
		require.NoError(t, err)
		namespaces := account.Namespaces[right.Scope]
		if right.Scope == rights.ScopeCluster {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			if applies {
				recorded[namespace] = append(recorded[namespace], resolved.Rule())
			}
		}
	}
	roles := map[string][]rbacv1.PolicyRule{}
	for _, object := range objects {
		if object.GetKind() == "Role" || object.GetKind() == "ClusterRole" {
			role := rbacv1.Role{}
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role))
			roles[object.GetNamespace()+"/"+object.GetName()] = role.Rules
		}
	}
	for _, object := range objects {
		if object.GetKind() != "RoleBinding" && object.GetKind() != "ClusterRoleBinding" {
			continue
		}
		binding := rbacv1.RoleBinding{}
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &binding))
		if len(binding.Subjects) != 1 || binding.Subjects[0].Name != name {
			continue
		}
		if binding.RoleRef.Name == "cluster-admin" {
			everything = true
			continue
		}
		bound[binding.Namespace] = append(bound[binding.Namespace], roles[binding.Namespace+"/"+binding.RoleRef.Name]...)
	}
	for namespace := range bound {
		require.ElementsMatch(t, recorded[namespace], bound[namespace], "rights of %s in namespace %q", name, namespace)
	}
	require.Len(t, bound, len(recorded))
	return everything
}
