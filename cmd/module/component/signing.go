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

// Algorithms to sign with.
const (
	// AlgorithmPKCS1 is RSASSA-PKCS1-V1_5, which all readers of component
	// descriptors verify.
	AlgorithmPKCS1 = "rsa-pkcs1v15"
	// AlgorithmPSS is RSASSA-PSS; its signatures differ each time.
	AlgorithmPSS = "rsassa-pss"
)

// ErrSigning says that a component version cannot be signed as asked.
var ErrSigning = errors.New("cannot sign")

// Signing says how a component version is signed.
type Signing struct {
	// Name of the signature. The Secret with the public key is labelled with it.
	Name    string
	private *rsa.PrivateKey
	handler signing.SignatureHandler
}

// LoadSigning reads a private RSA key (PKCS1 or PKCS8, PEM, not encrypted) from a
// file. The name must fit a label's value. Errors wrap ErrSigning and never hold
// anything of the file.
func LoadSigning(file, name, algorithm string) (*Signing, error) {
	if problems := validation.IsValidLabelValue(name); name == "" || len(problems) > 0 {
		return nil, fmt.Errorf("%w: signature name %q: it must be a label value and not empty %s", ErrSigning, name, strings.Join(problems, "; "))
	}
	s := &Signing{Name: name}
	switch algorithm {
	case AlgorithmPKCS1:
		s.handler = rsahandler.NewHandler()
	case AlgorithmPSS:
		s.handler = psshandler.NewHandler()
	default:
		return nil, fmt.Errorf("%w: signature algorithm %q: %s and %s are known", ErrSigning, algorithm, AlgorithmPKCS1, AlgorithmPSS)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: read the key: %w", ErrSigning, err)
	}
	block, _ := pem.Decode(content)
	if block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return nil, fmt.Errorf("%w: key %s: it must be a private key in PEM", ErrSigning, file)
	}
	if s.private, err = rsahandler.ParsePrivateKey(content); err != nil {
		return nil, fmt.Errorf("%w: key %s: it must be an RSA key in PKCS1 or PKCS8 that is not encrypted", ErrSigning, file)
	}
	return s, nil
}

// sign puts the signature into a descriptor whose resources have their digests,
// in place of one of the same name.
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

// portable brings a signature into a form that the library verifies. Its handler
// for PSS signs with a media type of its own and verifies only that of PKCS1v1.5
// and PEM (seen in v0.48.0), so the former becomes the latter.
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

// signed tells whether the descriptor carries this very signature: of this name,
// algorithm and key, over what it says now, and in a form that the library verifies.
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
