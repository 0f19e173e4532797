package harness

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/harness/chart"
	"github.com/kyma-project/lifecycle-manager/test/rights/granted"
)

// rights are the accounts and roles in the control plane that instances of an environment have, as the chart makes them.
// What a process has to do and may not, fails the test.
type rights struct {
	environment *Environment
	folder      string
	given       []*unstructured.Unstructured
	// users are those of which is recorded what they have.
	users map[string]bool
	// kubeconfigs are the paths by the flags and values that they were made for: instances are started again, in clean-ups too.
	kubeconfigs map[string]string
}

func newRights(s *Environment) *rights {
	return &rights{environment: s, folder: s.T.TempDir(), users: map[string]bool{}, kubeconfigs: map[string]string{}}
}

// give gives an instance with these flags, and further values of the chart, an account with its roles, and returns the
// kubeconfig of that account, and the flags that go with it.
func (r *rights) give(flags []string, further map[string]any) (kubeconfig string, more []string) {
	s := r.environment
	s.T.Helper()
	namespaces := []string{ControlPlaneNamespace}
	if given := flagOf(flags, "--namespaces"); given != "" {
		namespaces = strings.Split(given, ",")
	} else {
		more = []string{"--namespaces", ControlPlaneNamespace}
	}
	made := fmt.Sprint(flags, further)
	if path, found := r.kubeconfigs[made]; found {
		return path, more
	}
	release := chart.Release{Name: "e2e", Namespace: cmp.Or(flagOf(flags, "--leader-election-namespace"), ControlPlaneNamespace)}
	settings := settingsOfEvents(flags)
	needed := append(slices.Clone(namespaces), release.Namespace, cmp.Or(flagOf(flags, "--access-secret-namespace"), release.Namespace))
	if len(settings) > 0 {
		needed = append(needed, cmp.Or(flagOf(flags, "--istio-namespace"), "istio-system"))
	}
	for _, namespace := range needed {
		s.EnsureNamespace(s.ControlPlane, namespace)
	}
	account := "instance"
	values := map[string]any{
		"namespaces": namespaces, "accessSecretNamespace": flagOf(flags, "--access-secret-namespace"),
		"temporal": map[string]any{"address": "127.0.0.1:7233"}, "crds": map[string]any{"install": false},
		"webhook":                    map[string]any{"enabled": slices.Contains(flags, "--enable-webhooks")},
		"imagePullSecretForClusters": flagOf(flags, "--skr-image-pull-secret"),
		"controlPlaneModules":        map[string]any{"enabled": slices.Contains(flags, "--allow-control-plane-modules") || flagOf(flags, "--mode") == "single-cluster"},
	}
	if policy := flagOf(flags, "--signature-policy"); policy != "" {
		values["signaturePolicy"] = policy
	}
	if secret := flagOf(flags, "--oci-registry-cred-secret"); secret != "" {
		values["registry"] = map[string]any{"credentialsSecret": strings.TrimPrefix(secret, ControlPlaneNamespace+"/")}
	}
	if webhook := flagOf(flags, "--webhook-service-name"); webhook != "" {
		webhook = strings.TrimPrefix(webhook, release.Namespace+"/")
		account = strings.TrimSuffix(webhook, "-webhook")
		require.Equal(s.T, webhook+"-tls", flagOf(flags, "--webhook-secret-name"), "names as the chart makes them")
	}
	if managedBy := flagOf(flags, "--managed-by"); managedBy != "" {
		account = managedBy
		settings["managed-by"] = managedBy
	}
	if modules := flagOf(flags, "--inject-data-from-kcp-modules"); modules != "" {
		settings["inject-data-from-kcp-modules"] = strings.Split(modules, ",")
	} else if slices.Contains(flags, "--inject-data-from-kcp-modules=") {
		settings["inject-data-from-kcp-modules"] = []string{}
	}
	values["settings"] = settings
	for name, value := range further {
		values[name] = value
	}
	values["fullnameOverride"] = account
	if role := flagOf(flags, "--role"); role == "watchers" || role == "workers" {
		account += "-" + role
		values["shape"] = "split"
	}
	release.Values = values
	objects := release.Objects(s.T)
	s.RecordRights(release, objects)
	for _, object := range objects {
		if object.GroupVersionKind().Group == "rbac.authorization.k8s.io" || object.GetKind() == "ServiceAccount" {
			require.NoError(s.T, s.ControlPlane.Apply(context.WithoutCancel(s.T.Context()), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("e2e"), client.ForceOwnership))
			r.given = append(r.given, object)
		}
	}
	r.kubeconfigs[made] = s.kubeconfigOf(release.Namespace, account)
	return r.kubeconfigs[made], more
}

// settingsOfEvents are the settings of the chart by which events from remote clusters get their rights.
func settingsOfEvents(flags []string) map[string]any {
	given := map[string]any{}
	if routing := flagOf(flags, "--watcher-routing"); routing == "" || routing == "none" {
		return given
	}
	for _, name := range []string{"watcher-routing", "watcher-listener-address", "istio-namespace", "cert-management"} {
		if value := flagOf(flags, "--"+name); value != "" {
			given[name] = value
		}
	}
	if ranges := flagOf(flags, "--listener-gateway-cidrs"); ranges != "" {
		given["listener-gateway-cidrs"] = strings.Split(ranges, ",")
	}
	return given
}

// RecordRights records what the accounts of a release get by these objects, before they use it: the comparison with what
// is used (test/rights) reads it.
func (s *Environment) RecordRights(release chart.Release, objects []*unstructured.Unstructured) {
	s.T.Helper()
	accounts := release.Granted(s.T, objects)
	require.NoError(s.T, granted.Record(s.recordOfRights(), accounts...))
	for _, account := range accounts {
		s.rights.users[account.User] = true
	}
}

// ForgetRights records that no account has what was recorded any more. What they do from then on is not compared.
func (s *Environment) ForgetRights() {
	for user := range s.rights.users {
		if err := granted.Record(s.recordOfRights(), granted.Account{User: user, Lost: true}); err != nil {
			s.T.Errorf("record that %s lost its rights: %v", user, err)
		}
	}
	clear(s.rights.users)
}

func (s *Environment) recordOfRights() string {
	return granted.Path(filepath.Join(s.Fleet.StateDir, "clusters", "control-plane"))
}

// remove removes what was given.
func (r *rights) remove() {
	for _, object := range r.given {
		_ = r.environment.ControlPlane.Delete(context.Background(), object)
	}
	r.environment.ForgetRights()
}

// KubeconfigOf writes a kubeconfig with a token of a service account in kcp-system of the control plane.
func (s *Environment) KubeconfigOf(account string) string {
	s.T.Helper()
	return s.kubeconfigOf(ControlPlaneNamespace, account)
}

func (s *Environment) kubeconfigOf(namespace, account string) string {
	s.T.Helper()
	raw, err := os.ReadFile(s.ControlPlane.Access)
	require.NoError(s.T, err)
	config, err := clientcmd.Load(raw)
	require.NoError(s.T, err)
	config.AuthInfos[config.Contexts[config.CurrentContext].AuthInfo] = &clientcmdapi.AuthInfo{Token: s.tokenOf(namespace, account)}
	path := filepath.Join(s.rights.folder, account+".yaml")
	require.NoError(s.T, clientcmd.WriteToFile(*config, path))
	return path
}

// TokenOf is a token of a service account in kcp-system of the control plane.
func (s *Environment) TokenOf(account string) string {
	s.T.Helper()
	return s.tokenOf(ControlPlaneNamespace, account)
}

func (s *Environment) tokenOf(namespace, account string) string {
	s.T.Helper()
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](24 * 60 * 60)}}
	user := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: namespace}}
	require.NoError(s.T, s.ControlPlane.SubResource("token").Create(context.WithoutCancel(s.T.Context()), user, token))
	return token.Status.Token
}

// flagOf is the value of a flag, given as an argument of its own.
func flagOf(flags []string, name string) string {
	if at := slices.Index(flags, name); at >= 0 && at+1 < len(flags) {
		return flags[at+1]
	}
	return ""
}
