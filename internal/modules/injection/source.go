// Package injection reads the Secrets of the control plane whose data replaces that of Secrets in modules, if these have the
// annotation `operator.kyma-project.io/inject-data-from-kcp`.
//
// Source keeps versions of Secrets for a moment, and never their data: that is read right before it is applied.
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

// ReasonNotInjected is the reason of the fault that a Secret of the control plane is missing, may not be read, or is not for
// the module. The sweep has such a Manifest tried again in each pass, since a Secret is no input of it.
const ReasonNotInjected = "SecretNotInjected"

// words begin each message about a Secret that cannot be used. They are upstream's, as is what follows them: its users'
// scripts look for these.
const words = "inject-data-from-kcp transform failed: "

// fresh is for how long a version that was read is used: a sweep asks once for each cluster.
const fresh = 5 * time.Second

// Source reads the Secrets. It is safe for concurrent use.
type Source struct {
	reader client.Reader
	clock  func() time.Time

	mu    sync.Mutex
	found map[string]*memo.Value[metadata]
}

// metadata is what is known of a Secret without its data. The zero value is that of a missing one.
type metadata struct {
	there    bool
	labels   map[string]string
	uid      types.UID
	revision string
}

// New returns a source. The reader must not be cached. The clock may be nil.
func New(reader client.Reader, clock func() time.Time) *Source {
	return &Source{reader: reader, clock: clock, found: map[string]*memo.Value[metadata]{}}
}

// Key is the place of a Secret of this name in the control plane.
func Key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: shared.NamespaceControlPlane, Name: name}
}

// Version says which version there is of a Secret for a module, as of a few seconds ago; empty if the module cannot have it.
// It says nothing about the data, which is not read.
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

// Read returns the data of a Secret for a module, and its version. That the module cannot have it is a rejected fault.
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

// refusal says why a module cannot have the data of a Secret; nil if it can. The Secret's owner decides by its label.
func refusal(name string, is metadata, module string) error {
	of, labelled := is.labels[shared.LabelModuleName]
	switch {
	case !is.there:
		return fault.New(fault.Rejected, ReasonNotInjected, "there is no Secret %s", Key(name))
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

// version is made of what the API server counts, and of nothing of the data: it is written into clusters and statuses.
func (m metadata) version() string { return desired.DigestOf(m.uid, m.revision) }

// ItselfRefused says that a module would overwrite the very Secret whose data it asks for.
func ItselfRefused(name string) error {
	return fault.New(fault.Rejected, ReasonNotInjected, "%sthe Secret of the module would overwrite Secret %s, whose data it asks for", words, Key(name)).
		WithHint("give the Secret of the module another namespace")
}
