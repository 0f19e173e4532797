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

// Reasons of this package's faults. All are fault.Rejected, except for the last two and those marked "slow retry",
// which are fault.Transient.
const (
	// ReasonInvalidReference: the name of a layer or component version is invalid.
	ReasonInvalidReference = "InvalidReference"
	// ReasonRegistryNotAllowed: Options.Registries does not have the layer's registry (slow retry: a process with other
	// settings may allow it later).
	ReasonRegistryNotAllowed = "RegistryNotAllowed"
	// ReasonLayerNotFound: the registry does not have the layer (slow retry). Some registries also say so if they deny
	// access, or have not copied the layer yet.
	ReasonLayerNotFound = "LayerNotFound"
	// ReasonDescriptorNotFound: the registry does not have the component version (slow retry).
	ReasonDescriptorNotFound = "DescriptorNotFound"
	// ReasonInvalidDescriptor: the component version is not stored in the form that OCM specifies.
	ReasonInvalidDescriptor = "InvalidDescriptor"
	// ReasonDigestMismatch: the registry's content does not match the digest. A proxy may have answered instead of the
	// registry (slow retry).
	ReasonDigestMismatch = "DigestMismatch"

	// ReasonRegistryUnavailable: the registry is unreachable, or asks for a retry.
	ReasonRegistryUnavailable = "RegistryUnavailable"
	// ReasonRegistryUnauthorized: the registry refuses our credentials. They are not an input of any Manifest, so the
	// request is retried.
	ReasonRegistryUnauthorized = "RegistryUnauthorized"
)

// MayPass reports whether a fault with this reason is caused by the registry or its settings, so that it may disappear
// without a change of a Manifest.
func MayPass(reason string) bool {
	switch reason {
	case ReasonRegistryNotAllowed, ReasonLayerNotFound, ReasonDescriptorNotFound, ReasonDigestMismatch, ReasonRegistryUnavailable, ReasonRegistryUnauthorized:
		return true
	}
	return false
}

// slowRetry returns a fault that people fix at the registry. Nothing in the control plane changes when they have fixed
// it. The workflow retries at its slowest rate; the store asks the registry more often, once for all waiting workflows
// (see awaited).
func slowRetry(reason, format string, args ...any) error {
	f := fault.New(fault.Transient, reason, format, args...)
	f.SlowRetry = true
	return f
}

// classify converts the error of a request to a registry into a fault.
func classify(err error, what, missing string) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		switch answer.StatusCode {
		case http.StatusNotFound:
			return slowRetry(missing, "%s: the registry does not have it", what)
		case http.StatusUnauthorized, http.StatusForbidden:
			return fault.New(fault.Transient, ReasonRegistryUnauthorized, "%s: the registry refuses our credentials (status %d)", what, answer.StatusCode)
		}
		return fault.New(fault.Transient, ReasonRegistryUnavailable, "%s: the registry answered with status %d", what, answer.StatusCode)
	}
	return fault.New(fault.Transient, ReasonRegistryUnavailable, "%s: %w", what, withoutURL(err)).WithHint("%s", HintOf(err))
}

// HintOf returns the remedy if a wrong setting caused the error of a request to a registry, or else an empty string.
func HintOf(err error) string {
	var authority x509.UnknownAuthorityError
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the registry has no TLS: add its host to --oci-registry-plain-http, or write http:// before the host in --oci-registry-host"
	case errors.As(err, &authority):
		return "the registry's certificate is from an unknown authority: set --oci-registry-ca-file to a file with the authority's certificate"
	}
	return ""
}

// withoutURL removes the URL of a request from an error, because the URL of a redirect may hold a signature.
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
