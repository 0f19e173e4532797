// Package pullsecret reads the image pull Secret of remote clusters from the control plane.
package pullsecret

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/memo"
)

// ReasonNotFound is the fault's reason if the Secret is missing. It is not retried, because every Kyma is notified
// when the Secret appears.
const ReasonNotFound = "ImagePullSecretNotFound"

// fresh is how long a version may be used after it was read. A sweep asks for each Kyma, so this saves most reads.
const fresh = 5 * time.Second

// Source reads the Secret. It keeps the Secret's version and a digest of its content, never the content.
type Source struct {
	reader  client.Reader
	key     types.NamespacedName
	version *memo.Value[desired.SecretVersion]

	mu sync.Mutex
	// digest is the digest of the content in the version digestOf.
	digest   string
	digestOf desired.SecretVersion
}

// New returns a Source for the Secret with this name in the namespace kcp-system. The reader must not be cached. The
// clock may be nil.
func New(reader client.Reader, name string, clock func() time.Time) (*Source, error) {
	if reader == nil || name == "" {
		return nil, errors.New("pullsecret: reader must not be nil and name must not be empty")
	}
	key := types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: name}
	return &Source{reader: reader, key: key, version: memo.New[desired.SecretVersion](fresh, clock)}, nil
}

// Key returns the namespace and name of the Secret in the control plane.
func (s *Source) Key() types.NamespacedName { return s.key }

// Version returns the version of the Secret, at most a few seconds old; without a uid if the Secret is missing. It
// does not read the content.
func (s *Source) Version(ctx context.Context) (desired.SecretVersion, error) {
	return s.version.Get(ctx, s.readVersion)
}

func (s *Source) readVersion(ctx context.Context) (desired.SecretVersion, error) {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := s.reader.Get(ctx, s.key, secret); err != nil && !apierrors.IsNotFound(err) {
		return desired.SecretVersion{}, fmt.Errorf("read the metadata of image pull Secret %s: %w", s.key, err)
	}
	return s.versionOf(secret), nil
}

// Read reads the Secret live. It returns a rejected fault if the Secret is missing.
func (s *Source) Read(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.reader.Get(ctx, s.key, secret)
	if apierrors.IsNotFound(err) {
		return nil, fault.New(fault.Rejected, ReasonNotFound, "image pull Secret %s not found in the control plane", s.key)
	}
	if err != nil {
		return nil, fault.New(fault.Transient, "ImagePullSecretNotRead", "read image pull Secret %s: %w", s.key, err)
	}
	version := s.versionOf(secret)
	s.version.Set(version)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.digest, s.digestOf = Digest(secret), version
	return secret, nil
}

// Content returns the Digest of the Secret. It reads the Secret only if its version differs from the one last read.
func (s *Source) Content(ctx context.Context) (string, error) {
	version, err := s.Version(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	digest, known := s.digest, s.digestOf == version
	s.mu.Unlock()
	if known && digest != "" {
		return digest, nil
	}
	secret, err := s.Read(ctx)
	if err != nil {
		return "", err
	}
	return Digest(secret), nil
}

func (s *Source) versionOf(secret metav1.Object) desired.SecretVersion {
	return desired.SecretVersion{
		Namespace: s.key.Namespace, Name: s.key.Name, UID: secret.GetUID(), ResourceVersion: secret.GetResourceVersion(),
	}
}

// Digest returns a digest that differs for Secrets of different type or data. It is only for comparisons in memory.
// It must not be stored where others than the Secret's readers can read it.
func Digest(secret *corev1.Secret) string {
	encoded, err := json.Marshal([]any{secret.Type, secret.Data})
	if err != nil {
		return "" // not reachable: a map of bytes can always be encoded
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}
