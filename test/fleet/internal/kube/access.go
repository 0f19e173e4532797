package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// accessNamespace has the service account. It is there from the start and
// cannot be deleted, so no test can cut off Lifecycle Manager by cleaning up.
const accessNamespace = metav1.NamespaceSystem

// accessBinding makes the service account an admin. The chart of Lifecycle Manager has a binding of the plain name.
const accessBinding = "fleet:lifecycle-manager"

// tokenSecret is the Secret whose token the cluster fills in.
const tokenSecret = "lifecycle-manager-token"

// Client talks to a cluster as its admin.
type Client struct {
	core corev1client.CoreV1Interface
	rbac rbacv1client.RbacV1Interface
}

// Client returns a client with the admin's kubeconfig.
func (c Cluster) Client() (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(Admin))
	if err != nil {
		return nil, fmt.Errorf("client of cluster %s: %w", c.Name, err)
	}
	config.Timeout = 5 * time.Second
	config.UserAgent = "lifecycle-manager-fleet"
	config.RateLimiter = nil
	config.QPS = -1
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of cluster %s: %w", c.Name, err)
	}
	core, err := corev1client.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("client of cluster %s: %w", c.Name, err)
	}
	rbac, err := rbacv1client.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("client of cluster %s: %w", c.Name, err)
	}
	return &Client{core: core, rbac: rbac}, nil
}

// ServerReady returns nil when the API server says that it is ready.
func (c *Client) ServerReady(ctx context.Context) error {
	_, err := c.core.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}

// CreateAccess makes the service account for Lifecycle Manager, with a token
// that does not expire and the role cluster-admin.
func (c *Client) CreateAccess(ctx context.Context) error {
	_, err := c.core.ServiceAccounts(accessNamespace).Create(ctx, &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Name: LifecycleManager},
	}, metav1.CreateOptions{})
	if err := created("service account "+LifecycleManager, err); err != nil {
		return err
	}
	_, err = c.rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: accessBinding},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{
			Kind: rbacv1.ServiceAccountKind, Namespace: accessNamespace, Name: LifecycleManager,
		}},
	}, metav1.CreateOptions{})
	if err := created("cluster role binding "+accessBinding, err); err != nil {
		return err
	}
	_, err = c.core.Secrets(accessNamespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:        tokenSecret,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: LifecycleManager},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	return created("secret "+tokenSecret, err)
}

// created takes an object that exists already for a success: the step was done
// by an earlier run.
func created(object string, err error) error {
	if err == nil || apierrors.IsAlreadyExists(err) {
		return nil
	}
	return fmt.Errorf("create %s: %w", object, err)
}

// errNotYet says that the cluster has still something to do.
var errNotYet = errors.New("not yet")

// Working returns nil when all parts of the cluster have shown that they work:
// the controllers have made what every namespace gets and have filled in the
// token, and the node is ready and can be scheduled to.
func (c *Client) Working(ctx context.Context) error {
	_, err := c.core.ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("default service account: %w", err)
	}
	_, err = c.core.ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("root certificate of namespace default: %w", err)
	}
	if _, err := c.token(ctx); err != nil {
		return err
	}
	node, err := c.core.Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("node %s: %w", nodeName, err)
	}
	if len(node.Spec.Taints) > 0 {
		return fmt.Errorf("node %s has the taint %s: %w", nodeName, node.Spec.Taints[0].Key, errNotYet)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready: %w", nodeName, errNotYet)
}

func (c *Client) token(ctx context.Context) (string, error) {
	secret, err := c.core.Secrets(accessNamespace).Get(ctx, tokenSecret, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("token of %s: %w", LifecycleManager, err)
	}
	token := secret.Data[corev1.ServiceAccountTokenKey]
	if len(token) == 0 {
		return "", fmt.Errorf("token of %s is not filled in: %w", LifecycleManager, errNotYet)
	}
	return string(token), nil
}

// WriteAccess writes the kubeconfig of Lifecycle Manager's service account.
func (c Cluster) WriteAccess(ctx context.Context, client *Client) error {
	token, err := client.token(ctx)
	if err != nil {
		return err
	}
	return c.writeKubeconfig(LifecycleManager, &clientcmdapi.AuthInfo{Token: token})
}

// RemoveData throws away all that the cluster has.
func (c Cluster) RemoveData() error {
	if err := os.RemoveAll(c.Dir); err != nil {
		return fmt.Errorf("remove the data of cluster %s: %w", c.Name, err)
	}
	return nil
}

// MakeFolders makes the folders that the programs expect, and the API server's audit policy.
func (c Cluster) MakeFolders() error {
	for _, name := range []string{"pki", "kubeconfig", "etcd", "volume-plugins"} {
		if err := os.MkdirAll(filepath.Join(c.Dir, name), 0o700); err != nil {
			return fmt.Errorf("folders of cluster %s: %w", c.Name, err)
		}
	}
	return c.writeAuditPolicy()
}

func portNumber(port int) string { return strconv.Itoa(port) }
