// Package pullsecret reads the Secret with which remote clusters pull images, from the control plane.
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

// ReasonNotFound is the reason of the fault that the Secret is not there. It is not tried again: the Secret's
// appearance is a change that every Kyma is notified of.
const ReasonNotFound = "ImagePullSecretNotFound"

// fresh is for how long a version that was read is used: a sweep asks once for each Kyma.
const fresh = 5 * time.Second

// Source is the Secret. It keeps its version and a digest of its content, never the content.
type Source struct {
	reader  client.Reader
	key     types.NamespacedName
	version *memo.Value[desired.SecretVersion]

	mu sync.Mutex
	// digest is that of the content in the version digestOf.
	digest   string
	digestOf desired.SecretVersion
}

// New returns the Secret of that name in the namespace kcp-system. The reader must not be cached. The clock may be
// nil.
func New(reader client.Reader, name string, clock func() time.Time) (*Source, error) {
	if reader == nil || name == "" {
		return nil, errors.New("pullsecret: a reader and a name are needed")
	}
	key := types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: name}
	return &Source{reader: reader, key: key, version: memo.New[desired.SecretVersion](fresh, clock)}, nil
}

// Key is the place of the Secret in the control plane.
func (s *Source) Key() types.NamespacedName { return s.key }

// Version says which version of the Secret there is, as of a few seconds ago; without uid where there is none. Its
// content is not read.
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

// Read reads the Secret live. That it is not there is a rejected fault.
func (s *Source) Read(ctx context.Context) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.reader.Get(ctx, s.key, secret)
	if apierrors.IsNotFound(err) {
		return nil, fault.New(fault.Rejected, ReasonNotFound, "there is no image pull Secret %s in the control plane", s.key)
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

// Content is the Digest of the Secret, which is read only when it has another version than when it was last read.
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

// Digest distinguishes Secrets of different type or data. It is for comparing in memory and must not be stored where
// those can read it who may not read the Secret.
func Digest(secret *corev1.Secret) string {
	encoded, err := json.Marshal([]any{secret.Type, secret.Data})
	if err != nil {
		return "" // not reachable: a map of bytes can always be encoded
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}
