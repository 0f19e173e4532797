package component

import (
	"crypto/rsa"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"ocm.software/ocm/api/ocm/compdesc"
	metav1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	_ "ocm.software/ocm/api/ocm/compdesc/normalizations" // the form of a descriptor that is signed
	"ocm.software/ocm/api/tech/signing"
	rsahandler "ocm.software/ocm/api/tech/signing/handlers/rsa"
	psshandler "ocm.software/ocm/api/tech/signing/handlers/rsa-pss"
	"ocm.software/ocm/api/tech/signing/hasher/sha256"
	"ocm.software/ocm/api/tech/signing/signutils"
)

// Signature algorithms.
const (
	// AlgorithmPKCS1 is RSASSA-PKCS1-V1_5. All readers of component descriptors
	// can verify it.
	AlgorithmPKCS1 = "rsa-pkcs1v15"
	// AlgorithmPSS is RSASSA-PSS. Its signatures differ each time.
	AlgorithmPSS = "rsassa-pss"
)

// ErrSigning means that a component version cannot be signed as requested.
var ErrSigning = errors.New("cannot sign")

// Signing holds the key and the algorithm for a signature.
type Signing struct {
	// Name of the signature. The Secret with the public key has it as the value
	// of its label.
	Name    string
	private *rsa.PrivateKey
	handler signing.SignatureHandler
}

// LoadSigning reads a private RSA key (PKCS1 or PKCS8, PEM, not encrypted) from a
// file. The name must be a valid label value. Errors wrap ErrSigning and never
// contain any content of the file.
func LoadSigning(file, name, algorithm string) (*Signing, error) {
	if problems := validation.IsValidLabelValue(name); name == "" || len(problems) > 0 {
		return nil, fmt.Errorf("%w: signature name %q: must be a non-empty label value %s", ErrSigning, name, strings.Join(problems, "; "))
	}
	s := &Signing{Name: name}
	switch algorithm {
	case AlgorithmPKCS1:
		s.handler = rsahandler.NewHandler()
	case AlgorithmPSS:
		s.handler = psshandler.NewHandler()
	default:
		return nil, fmt.Errorf("%w: unknown signature algorithm %q: use %s or %s", ErrSigning, algorithm, AlgorithmPKCS1, AlgorithmPSS)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: read the key: %w", ErrSigning, err)
	}
	block, _ := pem.Decode(content)
	if block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return nil, fmt.Errorf("%w: key %s: must be a private key in PEM", ErrSigning, file)
	}
	if s.private, err = rsahandler.ParsePrivateKey(content); err != nil {
		return nil, fmt.Errorf("%w: key %s: must be an unencrypted RSA key in PKCS1 or PKCS8", ErrSigning, file)
	}
	return s, nil
}

// sign adds the signature to a descriptor, or replaces the signature with the
// same name. The resources of the descriptor must have their digests.
func (s *Signing) sign(descriptor *compdesc.ComponentDescriptor) error {
	if err := descriptor.IsNormalizeable(); err != nil {
		return fmt.Errorf("%w component %s:%s: %w", ErrSigning, descriptor.Name, descriptor.Version, err)
	}
	hasher := sha256.Handler{}
	digest, err := compdesc.Hash(descriptor.Copy(), compdesc.JsonNormalisationV3, hasher.Create())
	if err != nil {
		return fmt.Errorf("%w component %s:%s: %w", ErrSigning, descriptor.Name, descriptor.Version, err)
	}
	made, err := s.handler.Sign(nil, digest, &signing.DefaultSigningContext{Hash: hasher.Crypto(), PrivateKey: s.private})
	if err != nil {
		return fmt.Errorf("%w component %s:%s: %w", ErrSigning, descriptor.Name, descriptor.Version, err)
	}
	if err := portable(made); err != nil {
		return fmt.Errorf("%w component %s:%s: %w", ErrSigning, descriptor.Name, descriptor.Version, err)
	}
	descriptor.Signatures.Set(metav1.Signature{
		Name: s.Name,
		Digest: metav1.DigestSpec{
			HashAlgorithm: hasher.Algorithm(), NormalisationAlgorithm: compdesc.JsonNormalisationV3, Value: digest,
		},
		Signature: *metav1.SignatureSpecFor(made),
	})
	return nil
}

// portable changes a signature into a form that the OCM library can verify. Its
// PSS handler signs with its own media type but only verifies the media types of
// PKCS1v1.5 and PEM (seen in v0.48.0), so portable changes the former to PEM.
func portable(made *signing.Signature) error {
	if made.MediaType != psshandler.MediaType {
		return nil
	}
	value, err := hex.DecodeString(made.Value)
	if err != nil {
		return fmt.Errorf("encode the signature: %w", err)
	}
	made.MediaType, made.Value = psshandler.MediaTypePEM, string(signutils.SignatureBytesToPem(made.Algorithm, value))
	return nil
}

// signed reports whether the descriptor has this signature: the same name,
// algorithm and key, over its present content, and in a form that the OCM library
// can verify.
func (s *Signing) signed(descriptor *compdesc.ComponentDescriptor) bool {
	carried := descriptor.Signatures.GetByName(s.Name)
	if carried == nil || carried.Signature.Algorithm != s.handler.Algorithm() {
		return false
	}
	hasher := sha256.Handler{}
	if signing.NormalizeHashAlgorithm(carried.Digest.HashAlgorithm) != hasher.Algorithm() {
		return false
	}
	digest, err := compdesc.Hash(descriptor.Copy(), carried.Digest.NormalisationAlgorithm, hasher.Create())
	if err != nil || digest != carried.Digest.Value {
		return false
	}
	return s.handler.Verify(digest, carried.ConvertToSigning(), &signing.DefaultSigningContext{Hash: hasher.Crypto(), PublicKey: &s.private.PublicKey}) == nil
}
