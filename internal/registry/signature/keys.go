package signature

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	rsahandler "ocm.software/ocm/api/tech/signing/handlers/rsa"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

const (
	// keysTTL limits the number of requests while a whole fleet verifies signatures.
	keysTTL = 5 * time.Second
	// keysTimeout bounds one LIST. Callers share the LIST, so it does not end with a caller's context.
	keysTimeout = 20 * time.Second
)

// key is the key in a Secret.
type key struct {
	secret string
	public *rsa.PublicKey
	// problem says why the Secret has no usable public key.
	problem error
}

// keys holds all keys by the name of their signature.
type keys struct {
	byName map[string][]key
	// version is a hash of the Secrets' resource versions, content a hash of the keys in them.
	version, content [sha256.Size]byte
}

// keyStore reads the Secrets with keys. There are few, so one request reads all of them.
type keyStore struct {
	reader    client.Reader
	namespace string
	ttl       time.Duration
	clock     func() time.Time
	flight    singleflight.Group

	mu   sync.Mutex
	last keys
	at   time.Time
}

func newKeyStore(options Options) *keyStore {
	return &keyStore{reader: options.Keys, namespace: options.Namespace, ttl: options.KeysTTL, clock: options.Clock}
}

// current returns the keys, read at most the TTL ago. Callers share a request. Older keys are never used, so that a
// compromised key stops counting soon after its removal.
func (s *keyStore) current(ctx context.Context) (keys, error) {
	if known, ok := s.fresh(); ok {
		return known, nil
	}
	answer := s.flight.DoChan("", func() (any, error) {
		if known, ok := s.fresh(); ok {
			return known, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout)
		defer cancel()
		return s.list(ctx)
	})
	select {
	case <-ctx.Done():
		return keys{}, context.Cause(ctx)
	case result := <-answer:
		if result.Err != nil {
			return keys{}, result.Err
		}
		found, _ := result.Val.(keys)
		return found, nil
	}
}

func (s *keyStore) fresh() (keys, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.clock().Sub(s.at)
	return s.last, s.last.byName != nil && age >= 0 && age < s.ttl
}

func (s *keyStore) list(ctx context.Context) (keys, error) {
	asked := s.clock()
	var secrets corev1.SecretList
	if err := s.reader.List(ctx, &secrets, client.InNamespace(s.namespace), client.HasLabels{shared.LabelSignature}); err != nil {
		return keys{}, fmt.Errorf("list Secrets with label %s in namespace %s: %w", shared.LabelSignature, s.namespace, err)
	}
	found := keysOf(secrets.Items)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.at = found, asked
	return found, nil
}

func keysOf(secrets []corev1.Secret) keys {
	slices.SortFunc(secrets, func(a, b corev1.Secret) int { return cmp.Compare(a.Name, b.Name) })
	found := keys{byName: map[string][]key{}}
	version, content := sha256.New(), sha256.New()
	for i := range secrets {
		secret := &secrets[i]
		name := secret.Labels[shared.LabelSignature]
		one := key{secret: secret.Namespace + "/" + secret.Name}
		one.public, one.problem = publicKey(secret)
		found.byName[name] = append(found.byName[name], one)
		// Names and labels hold no line breaks, so the lines cannot run into each other.
		_, _ = fmt.Fprintf(version, "%s\n%s\n%s\n", one.secret, secret.UID, secret.ResourceVersion)
		_, _ = fmt.Fprintf(content, "%s\n%s\n%x\n", one.secret, name, sha256.Sum256(secret.Data[shared.SignatureSecretKey]))
	}
	version.Sum(found.version[:0])
	content.Sum(found.content[:0])
	return found
}

// publicKey returns the key in a Secret: X.509 PKIX or PKCS1, in PEM (docs/operating.md#signatures).
func publicKey(secret *corev1.Secret) (*rsa.PublicKey, error) {
	data, ok := secret.Data[shared.SignatureSecretKey]
	if !ok {
		return nil, fmt.Errorf("has no data key %q", shared.SignatureSecretKey)
	}
	block, rest := pem.Decode(data)
	switch {
	case block == nil:
		return nil, errors.New("holds no PEM block")
	case strings.Contains(block.Type, "PRIVATE"):
		return nil, errors.New("holds a private key: generate a new key pair, and store only its public key there")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("holds more than one PEM block")
	}
	parsed, err := rsahandler.ParsePublicKey(data)
	if err != nil {
		return nil, fmt.Errorf("holds no RSA public key in X.509 PKIX or PKCS1 (PEM block %s)", short(block.Type))
	}
	public, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("holds a public key that is not an RSA key")
	}
	return public, nil
}
