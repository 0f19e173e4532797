package artifacts

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Reasons of faults of this package. All are fault.Rejected but the last two, which are fault.Transient, and those
// that say that they are retried slowly.
const (
	// ReasonInvalidReference: the name of a layer or component version is not one.
	ReasonInvalidReference = "InvalidReference"
	// ReasonRegistryNotAllowed: the layer is in a registry that Options.Registries do not have (slow retry: those of a
	// process that starts later may have it).
	ReasonRegistryNotAllowed = "RegistryNotAllowed"
	// ReasonLayerNotFound: the registry does not have the layer. Some also say so of what they do not let us see, or
	// have not copied yet (slow retry).
	ReasonLayerNotFound = "LayerNotFound"
	// ReasonDescriptorNotFound: the registry does not have the component version (slow retry).
	ReasonDescriptorNotFound = "DescriptorNotFound"
	// ReasonInvalidDescriptor: the component version is not stored as OCM says.
	ReasonInvalidDescriptor = "InvalidDescriptor"
	// ReasonDigestMismatch: what the registry sent is not what the digest names. It may be what a proxy says in the
	// registry's place (slow retry).
	ReasonDigestMismatch = "DigestMismatch"

	// ReasonRegistryUnavailable: the registry cannot be reached, or asks to try again.
	ReasonRegistryUnavailable = "RegistryUnavailable"
	// ReasonRegistryUnauthorized: the registry does not accept our credentials. They are not an input of
	// any Manifest, so this is tried again.
	ReasonRegistryUnauthorized = "RegistryUnauthorized"
)

// MayPass reports whether a fault with this reason is the registry's, or of the settings about it, so that it may pass
// without a change of a Manifest.
func MayPass(reason string) bool {
	switch reason {
	case ReasonRegistryNotAllowed, ReasonLayerNotFound, ReasonDescriptorNotFound, ReasonDigestMismatch, ReasonRegistryUnavailable, ReasonRegistryUnauthorized:
		return true
	}
	return false
}

// slowRetry is a fault that people fix at the registry. Nothing of ours changes when they have. The workflow tries again
// only now and then: the store asks the registry more often, for all workflows that wait for the same (see awaited).
func slowRetry(reason, format string, args ...any) error {
	f := fault.New(fault.Transient, reason, format, args...)
	f.SlowRetry = true
	return f
}

// classify turns the error of a request to a registry into a fault.
func classify(err error, what, missing string) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		switch answer.StatusCode {
		case http.StatusNotFound:
			return slowRetry(missing, "%s: the registry does not have it", what)
		case http.StatusUnauthorized, http.StatusForbidden:
			return fault.New(fault.Transient, ReasonRegistryUnauthorized, "%s: the registry does not let us (status %d)", what, answer.StatusCode)
		}
		return fault.New(fault.Transient, ReasonRegistryUnavailable, "%s: the registry answered with status %d", what, answer.StatusCode)
	}
	return fault.New(fault.Transient, ReasonRegistryUnavailable, "%s: %w", what, withoutURL(err)).WithHint("%s", HintOf(err))
}

// HintOf returns what can be done about the error of a request to a registry if a setting is wrong, and nothing otherwise.
func HintOf(err error) string {
	var authority x509.UnknownAuthorityError
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the registry has no TLS: name its host in --oci-registry-plain-http, or write http:// before it in --oci-registry-host"
	case errors.As(err, &authority):
		return "the certificate of the registry is of an authority that is not known here: name a file with the authority's certificate by --oci-registry-ca-file"
	}
	return ""
}

// withoutURL keeps the address of a request out of messages: that of a redirect may hold a signature.
func withoutURL(err error) error {
	var request *url.Error
	if !errors.As(err, &request) {
		return err
	}
	host := ""
	if address, parseErr := url.Parse(request.URL); parseErr == nil {
		host = address.Host
	}
	return fmt.Errorf("%s %s: %w", request.Op, host, request.Err)
}
