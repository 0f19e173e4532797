// Package injection reads Secrets in the control plane and returns their data for Secrets in modules with the
// annotation `operator.kyma-project.io/inject-data-from-kcp`.
//
// Source caches versions of Secrets for a moment, and never their data. The data is read right before it is applied.
package injection

import (
	"context"
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

// ReasonNotInjected is the fault's reason if a Secret of the control plane is missing, may not be read, or is not for
// the module. The sweep retries a Manifest with this reason in each pass, because the Secret is not one of its
// inputs.
const ReasonNotInjected = "SecretNotInjected"

// words begin most messages about an unusable Secret. These messages, including the text after words, are upstream's,
// because users' scripts search for them.
const words = "inject-data-from-kcp transform failed: "

// fresh is how long a version may be used after it was read. A sweep asks for each cluster, so this saves most reads.
const fresh = 5 * time.Second

// Source reads the Secrets of the control plane. It is safe for concurrent use.
type Source struct {
	reader client.Reader
	clock  func() time.Time

	mu    sync.Mutex
	found map[string]*memo.Value[metadata]
}

// metadata is a Secret's metadata. The zero value stands for a missing Secret.
type metadata struct {
	there    bool
	labels   map[string]string
	uid      types.UID
	revision string
}

// New returns a Source. The reader must not be cached. The clock may be nil.
func New(reader client.Reader, clock func() time.Time) *Source {
	return &Source{reader: reader, clock: clock, found: map[string]*memo.Value[metadata]{}}
}

// Key returns the namespace and name of a Secret in the control plane.
func Key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: name}
}

// Version returns the version of a Secret for a module, at most a few seconds old; empty if the module may not use
// the Secret. It does not read the Secret's data.
func (s *Source) Version(ctx context.Context, name, module string) (string, error) {
	is, err := s.memoOf(name).Get(ctx, func(ctx context.Context) (metadata, error) {
		secret := &metav1.PartialObjectMetadata{}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := s.reader.Get(ctx, Key(name), secret)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			return metadata{}, nil
		case err != nil:
			return metadata{}, notRead(name, err)
		}
		return metadataOf(secret), nil
	})
	if err != nil || refusal(name, is, module) != nil {
		return "", err
	}
	return is.version(), nil
}

// Read returns the data of a Secret for a module, and its version. It returns a rejected fault if the module may not
// use the Secret.
func (s *Source) Read(ctx context.Context, name, module string) (data map[string][]byte, version string, err error) {
	secret := &corev1.Secret{}
	err = s.reader.Get(ctx, Key(name), secret)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		s.memoOf(name).Set(metadata{})
		return nil, "", fault.New(fault.Rejected, ReasonNotInjected, "%sfailed to fetch kcp secret %q: failed to get secret %s-%s: %w",
			words, name, name, shared.NamespaceControlPlane, err)
	case err != nil:
		return nil, "", notRead(name, err)
	}
	is := metadataOf(secret)
	s.memoOf(name).Set(is)
	if err := refusal(name, is, module); err != nil {
		return nil, "", err
	}
	return secret.Data, is.version(), nil
}

func (s *Source) memoOf(name string) *memo.Value[metadata] {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.found[name]
	if known == nil {
		known = memo.New[metadata](fresh, s.clock)
		s.found[name] = known
	}
	return known
}

// refusal returns why a module may not use the data of a Secret; nil if it may. The Secret's owner decides that with
// a label.
func refusal(name string, is metadata, module string) error {
	of, labelled := is.labels[shared.LabelModuleName]
	switch {
	case !is.there:
		return fault.New(fault.Rejected, ReasonNotInjected, "Secret %s not found", Key(name))
	case !labelled:
		return fault.New(fault.Rejected, ReasonNotInjected, "%skcp source secret is missing the required %s label: secret=%s", words, shared.LabelModuleName, name)
	case of != module:
		return fault.New(fault.Rejected, ReasonNotInjected, "%skcp source secret %s label does not match the manifest module: secret=%s expected=%s actual=%s",
			words, shared.LabelModuleName, name, module, of)
	}
	return nil
}

func notRead(name string, err error) error {
	return fault.New(fault.Transient, "SecretNotRead", "read Secret %s of the control plane: %w", Key(name), err)
}

func metadataOf(secret metav1.Object) metadata {
	return metadata{there: true, labels: secret.GetLabels(), uid: secret.GetUID(), revision: secret.GetResourceVersion()}
}

// version depends only on the uid and the resource version, not on the data, because versions are written into
// clusters and statuses.
func (m metadata) version() string { return desired.DigestOf(m.uid, m.revision) }

// ItselfRefused returns the fault for a module's Secret that would overwrite the very Secret whose data it asks for.
func ItselfRefused(name string) error {
	return fault.New(fault.Rejected, ReasonNotInjected, "%sthe Secret of the module would overwrite Secret %s, whose data it asks for", words, Key(name)).
		WithHint("give the Secret of the module another namespace")
}
