package signature

import (
	"slices"
	"strings"

	"ocm.software/ocm/api/ocm/compdesc"
	metav1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	_ "ocm.software/ocm/api/ocm/compdesc/normalizations" // jsonNormalisation v1, v2, v3
	"ocm.software/ocm/api/tech/signing"
	rsahandler "ocm.software/ocm/api/tech/signing/handlers/rsa"
	psshandler "ocm.software/ocm/api/tech/signing/handlers/rsa-pss"
	"ocm.software/ocm/api/tech/signing/hasher/sha256"
	"ocm.software/ocm/api/tech/signing/hasher/sha512"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// verify verifies a descriptor with at least one signature.
func verify(raw []byte, required string, known keys) (err error) {
	defer func() {
		// The library has panicked on values of unexpected types. Refuse content that cannot be verified.
		if recover() != nil {
			err = refuse("the component descriptor cannot be verified: the OCM library failed on its content")
		}
	}()
	decoded, err := descriptor.Decode(raw)
	if err != nil {
		return err
	}
	if err := verifySignatures(raw, decoded.Signatures, required, known); err != nil {
		return err
	}
	return verifyLayers(raw, decoded)
}

func verifySignatures(raw []byte, carried metav1.Signatures, required string, known keys) error {
	var names, withoutKey []string
	verified := false
	for i := range carried {
		name := carried[i].Name
		if slices.Contains(names, name) {
			return refuse("signature %s is in the component descriptor twice: remove one", short(name))
		}
		names = append(names, name)
		if required != "" && name != required {
			continue
		}
		one, err := known.only(name)
		if err != nil {
			return err
		}
		if one == nil {
			withoutKey = append(withoutKey, name)
			continue
		}
		if err := verifySignature(raw, &carried[i], *one); err != nil {
			return err
		}
		verified = true
	}
	switch {
	case verified:
		return nil
	case len(withoutKey) > 0:
		return refuse("no public key for signature %s: the Secret with label %s=%s and the key in data key %q is missing",
			list(withoutKey), shared.LabelSignature, plain(withoutKey[0]), shared.SignatureSecretKey)
	default:
		return refuse("the ModuleTemplate's label %s names signature %s, but the component descriptor has only %s: "+
			"sign it under this name, or change the label", shared.LabelSignature, short(required), list(names))
	}
}

// only returns the only key for a signature, or nil if there is none.
func (k keys) only(name string) (*key, error) {
	candidates := k.byName[name]
	switch len(candidates) {
	case 0:
		return nil, nil
	case 1:
		if problem := candidates[0].problem; problem != nil {
			return nil, refuse("public key for signature %s: Secret %s %w", short(name), candidates[0].secret, problem)
		}
		return &candidates[0], nil
	}
	secrets := lists.Map(candidates, func(candidate key) string { return candidate.secret })
	return nil, refuse("more than one Secret is labelled for signature %s: %s; leave the label %s on one",
		short(name), strings.Join(secrets, ", "), shared.LabelSignature)
}

// verifySignature verifies one signature. It does not pass on the library's errors, because they may quote content.
func verifySignature(raw []byte, one *metav1.Signature, with key) error {
	registry := algorithms()
	name := short(one.Name)
	hasher := registry.GetHasher(one.Digest.HashAlgorithm)
	normalization := one.Digest.NormalisationAlgorithm
	switch {
	case registry.GetVerifier(one.Signature.Algorithm) == nil:
		return refuse("signature %s uses algorithm %s, which is unknown: sign with %s or %s",
			name, short(one.Signature.Algorithm), rsahandler.Algorithm, psshandler.Algorithm)
	case hasher == nil:
		return refuse("signature %s uses hash algorithm %s, which is unknown: sign with %s or %s",
			name, short(one.Digest.HashAlgorithm), sha256.Algorithm, sha512.Algorithm)
	case compdesc.Normalizations.Get(normalization) == nil:
		return refuse("signature %s uses normalisation algorithm %s, which is unknown: sign with %s",
			name, short(normalization), compdesc.JsonNormalisationV3)
	}
	// Normalization changes the descriptor, so each use gets its own copy.
	forHash, err := descriptor.Decode(raw)
	if err != nil {
		return err
	}
	digest, err := compdesc.Hash(forHash, normalization, hasher.Create())
	if err != nil {
		return refuse("signature %s: the component descriptor cannot be normalised with %s: sign it again", name, short(normalization))
	}
	if digest != one.Digest.Value {
		return refuse("signature %s is for another content: the component descriptor was changed after it was signed; sign it again", name)
	}
	forVerify, err := descriptor.Decode(raw)
	if err != nil {
		return err
	}
	registry.RegisterPublicKey(one.Name, with.public)
	if err := compdesc.Verify(forVerify, registry, one.Name); err != nil {
		return refuse("signature %s (%s, media type %s) does not verify with the public key in Secret %s: it was made with another key, "+
			"or was changed; sign again, or correct the key", name, short(one.Signature.Algorithm), short(one.Signature.MediaType), with.secret)
	}
	return nil
}

// algorithms returns the accepted algorithms: RSA over SHA-2. They are listed here because every linked package adds
// its algorithms to the library's registry, including one that hashes nothing.
func algorithms() signing.Registry {
	handlers := signing.NewHandlerRegistry()
	handlers.RegisterSignatureHandler(rsahandler.NewHandler())
	handlers.RegisterSignatureHandler(pss{psshandler.NewHandler()})
	handlers.RegisterHasher(sha256.Handler{})
	handlers.RegisterHasher(sha512.Handler{})
	return signing.NewRegistry(handlers, signing.NewKeyRegistry())
}

// pss makes the library's handler verify its own signatures: the handler signs with the media type of PSS, but verifies
// only the media type of PKCS1v1.5, in the same encoding (seen in v0.48.0).
type pss struct{ signing.SignatureHandler }

// Verify verifies a signature over a digest (in hex).
func (h pss) Verify(digest string, signature *signing.Signature, sctx signing.SigningContext) error {
	readable := *signature
	if readable.MediaType == psshandler.MediaType {
		readable.MediaType = rsahandler.MediaType
	}
	return h.SignatureHandler.Verify(digest, &readable, sctx)
}

// list returns a few quoted names.
func list(names []string) string {
	const most = 5
	quoted := make([]string, 0, most+1)
	for _, name := range names {
		if len(quoted) == most {
			quoted = append(quoted, "…")
			break
		}
		quoted = append(quoted, short(name))
	}
	return strings.Join(quoted, ", ")
}

// plain returns a name without quotes, as people write it in a label.
func plain(name string) string { return strings.Trim(short(name), `"`) }
