package clusters

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Reasons of faults of this package.
const (
	// ReasonAccessSecretNotFound: a complete reading found no access Secret (kind Unreachable).
	ReasonAccessSecretNotFound = "AccessSecretNotFound"
	// ReasonAccessSecretAmbiguous: more than one access Secret is for the Kyma (kind Rejected).
	ReasonAccessSecretAmbiguous = "AccessSecretAmbiguous"
	// ReasonKubeconfigRejected: the kubeconfig cannot be used, or asks for what is not allowed (kind Rejected).
	ReasonKubeconfigRejected = "KubeconfigRejected"

	// Kind Unreachable: the cluster, or our access to it, is at fault.
	ReasonUnreachableNetwork      = "UnreachableNetwork"
	ReasonUnreachableTimeout      = "UnreachableTimeout"
	ReasonUnreachableTLS          = "UnreachableTLS"
	ReasonUnreachableUnauthorized = "UnreachableUnauthorized"
	ReasonUnreachableForbidden    = "UnreachableForbidden"
	// ReasonUnreachableServerFailed: the API server answers, but with errors of its own, for longer than the attempts
	// of one activity.
	ReasonUnreachableServerFailed = "UnreachableServerFailed"

	// Kind Transient: the API server answered, and asks to try again.
	ReasonConflict  = "Conflict"
	ReasonThrottled = "Throttled"
	// ReasonServerFailed: the API server answered with an error of its own. While that lasts, it is
	// ReasonUnreachableServerFailed.
	ReasonServerFailed = "ServerFailed"
	// ReasonConversionFailed: the API server could not convert an object, as when the webhook of a module that does it
	// is dead. The cluster is well otherwise.
	ReasonConversionFailed = "ConversionFailed"
	// ReasonAccessChanged: the access Secret changed while work was under way. The next try takes the new one.
	ReasonAccessChanged = "AccessChanged"
	// ReasonResponseTooLarge: a response body was above the cap (kind Unreachable: the cluster is at fault).
	ReasonResponseTooLarge = "UnreachableResponseTooLarge"
)

// ReasonsWithoutAccess are all for which nothing may be known of a remote cluster (status.remote.unreachableReason).
func ReasonsWithoutAccess() []string {
	return []string{
		ReasonAccessSecretNotFound, ReasonAccessSecretAmbiguous, ReasonKubeconfigRejected, ReasonControlPlaneAccess,
		ReasonUnreachableNetwork, ReasonUnreachableTimeout, ReasonUnreachableTLS, ReasonUnreachableUnauthorized,
		ReasonUnreachableForbidden, ReasonUnreachableServerFailed, ReasonResponseTooLarge,
	}
}

// ErrResponseTooLarge is returned while reading a response body that is above the cap.
var ErrResponseTooLarge = errors.New("response body above the limit")

// ErrAccessChanged is the answer to every request that is made, or under way, with access that another took the
// place of: no stale credential is used once the change was seen.
var ErrAccessChanged = errors.New("the access secret changed")

// maxRetryAfter bounds what a cluster may ask us to wait.
const maxRetryAfter = time.Minute

// Classify turns the error of a request to a remote cluster into a fault: network, TLS, 401 and 403 are
// Unreachable; conflicts, 429 and 5xx are Transient, and 5xx that last are Unreachable too, unless it is only a
// conversion webhook that failed. What is known already, a cancellation, and what the caller must understand himself
// (not found, no match, invalid) is returned unchanged.
//
// A 403 may also be the answer to one object (quota, admission): who applies objects checks it before.
func Classify(err error) error {
	var known *fault.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, ErrAccessChanged) {
		return fault.New(fault.Transient, ReasonAccessChanged, "%w", err)
	}
	if expired, ok := errors.AsType[*expiredError](err); ok {
		return fault.New(fault.Unreachable, ReasonUnreachableUnauthorized, "%w", expired)
	}
	if f := classifyStatus(err); f != nil {
		return f
	}
	return classifyTransport(err)
}

func classifyStatus(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return nil
	}
	code := int(status.Status().Code)
	switch {
	case apierrors.IsUnauthorized(err):
		return fault.New(fault.Unreachable, ReasonUnreachableUnauthorized, "the cluster does not accept our credentials: %w", err)
	case apierrors.IsForbidden(err):
		return fault.New(fault.Unreachable, ReasonUnreachableForbidden, "the cluster forbids what is needed: %w", err)
	case apierrors.IsConflict(err):
		return fault.New(fault.Transient, ReasonConflict, "%w", err)
	case conversionFailed(status.Status()):
		return fault.New(fault.Transient, ReasonConversionFailed, "%w", err)
	case apierrors.IsTooManyRequests(err):
		f := fault.New(fault.Transient, ReasonThrottled, "%w", err)
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			f.RetryAfter = min(time.Duration(seconds)*time.Second, maxRetryAfter)
		}
		return f
	case code >= http.StatusInternalServerError, apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		f := fault.New(fault.Transient, ReasonServerFailed, "%w", err)
		f.Persistent = fault.Fault{Kind: fault.Unreachable, Reason: ReasonUnreachableServerFailed}
		return f
	}
	return err
}

// conversionFailed reports whether the webhook failed that a definition has objects converted by. The API server says so
// only in words (k8s.io/apiextensions-apiserver, conversion.webhookConverter), with 500, or 429 where it fills a cache.
func conversionFailed(status metav1.Status) bool {
	return (status.Code == http.StatusInternalServerError || status.Code == http.StatusTooManyRequests) &&
		strings.Contains(status.Message, "conversion webhook for ")
}

// conversionWebhook finds the kind in such a message, and why the webhook failed.
var conversionWebhook = regexp.MustCompile(`(?s)conversion webhook for ([^,\s]+), Kind=(\w+) (?:failed: )?(.*)$`)

// ConversionFailure returns the kind that the API server could not convert, and why, if that is what an error says.
func ConversionFailure(err error) (of, why string, ok bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !conversionFailed(status.Status()) {
		return "", "", false
	}
	found := conversionWebhook.FindStringSubmatch(status.Status().Message)
	if found == nil {
		return "an object", status.Status().Message, true
	}
	return found[2] + " (" + found[1] + ")", found[3], true
}

// otherAnswer is the fault of an answer that came, and is not what was asked for, as of a server that is no API server:
// that of one that fails. What is more than that it is not said in words of the server's. Other errors are returned
// unchanged.
func otherAnswer(err error) error {
	var status apierrors.APIStatus
	var known *fault.Error
	if errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.As(Classify(err), &known) {
		return err
	}
	return &fault.Error{
		Kind: fault.Transient, Reason: ReasonServerFailed, Message: "the cluster answers with something else than it is asked for", Cause: err,
		Persistent: fault.Fault{Kind: fault.Unreachable, Reason: ReasonUnreachableServerFailed},
	}
}

func classifyTransport(err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	var (
		unknownCA *x509.UnknownAuthorityError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		alert     tls.AlertError
		record    tls.RecordHeaderError
		network   net.Error
		request   *url.Error
	)
	switch {
	case errors.Is(err, ErrResponseTooLarge):
		return fault.New(fault.Unreachable, ReasonResponseTooLarge, "%w", err)
	case errors.As(err, &unknownCA), errors.As(err, &authority), errors.As(err, &hostname), errors.As(err, &invalid),
		errors.As(err, &verify), errors.As(err, &alert), errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fault.New(fault.Unreachable, ReasonUnreachableTLS, "%w", err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return fault.New(fault.Unreachable, ReasonUnreachableTimeout, "%w", err)
	case errors.As(err, &network), errors.As(err, &request):
		return fault.New(fault.Unreachable, ReasonUnreachableNetwork, "%w", err)
	}
	return err
}
