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

// Reasons of this package's faults.
const (
	// ReasonAccessSecretNotFound: a complete read found no access Secret (kind Unreachable).
	ReasonAccessSecretNotFound = "AccessSecretNotFound"
	// ReasonAccessSecretAmbiguous: the Kyma has more than one access Secret (kind Rejected).
	ReasonAccessSecretAmbiguous = "AccessSecretAmbiguous"
	// ReasonKubeconfigRejected: the kubeconfig is invalid, or asks for something that is not allowed (kind Rejected).
	ReasonKubeconfigRejected = "KubeconfigRejected"

	// Kind Unreachable: the cluster, or our access to it, is at fault.
	ReasonUnreachableNetwork      = "UnreachableNetwork"
	ReasonUnreachableTimeout      = "UnreachableTimeout"
	ReasonUnreachableTLS          = "UnreachableTLS"
	ReasonUnreachableUnauthorized = "UnreachableUnauthorized"
	ReasonUnreachableForbidden    = "UnreachableForbidden"
	// ReasonUnreachableServerFailed: the API server answers with errors for longer than the attempts of one activity.
	ReasonUnreachableServerFailed = "UnreachableServerFailed"

	// Kind Transient: the API server answered, and asks for a retry.
	ReasonConflict  = "Conflict"
	ReasonThrottled = "Throttled"
	// ReasonServerFailed: the API server answered with an internal error. If that persists, the reason becomes
	// ReasonUnreachableServerFailed.
	ReasonServerFailed = "ServerFailed"
	// ReasonConversionFailed: the API server could not convert an object, for example because a module's conversion
	// webhook is down. The rest of the cluster works.
	ReasonConversionFailed = "ConversionFailed"
	// ReasonAccessChanged: the access Secret changed while work was in progress. The retry uses the new Secret.
	ReasonAccessChanged = "AccessChanged"
	// ReasonResponseTooLarge: a response body exceeded the limit (kind Unreachable, because the cluster is at fault).
	ReasonResponseTooLarge = "UnreachableResponseTooLarge"
)

// ReasonsWithoutAccess returns the reasons why a remote cluster cannot be accessed (status.remote.unreachableReason).
func ReasonsWithoutAccess() []string {
	return []string{
		ReasonAccessSecretNotFound, ReasonAccessSecretAmbiguous, ReasonKubeconfigRejected, ReasonControlPlaneAccess,
		ReasonUnreachableNetwork, ReasonUnreachableTimeout, ReasonUnreachableTLS, ReasonUnreachableUnauthorized,
		ReasonUnreachableForbidden, ReasonUnreachableServerFailed, ReasonResponseTooLarge,
	}
}

// ErrResponseTooLarge is the error of reading a response body above the limit.
var ErrResponseTooLarge = errors.New("response body above the limit")

// ErrAccessChanged is the error of every request with replaced access, including those in progress: after a change is
// known, no request uses stale credentials.
var ErrAccessChanged = errors.New("the access secret changed")

// maxRetryAfter bounds the Retry-After of a cluster.
const maxRetryAfter = time.Minute

// Classify converts the error of a request to a remote cluster into a fault. Network errors, TLS errors, 401 and 403
// are Unreachable. Conflicts, 429 and 5xx are Transient. A persistent 5xx is Unreachable, unless only a conversion
// webhook failed. Classify returns faults and cancellations unchanged, and also errors that only the caller can
// interpret (not found, no match, invalid).
//
// A 403 may also concern one object only (quota, admission). Callers that apply objects must check for that first.
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
		return fault.New(fault.Unreachable, ReasonUnreachableForbidden, "the cluster forbids a necessary request: %w", err)
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

// conversionFailed reports whether a definition's conversion webhook failed. The API server says so only in the message
// (k8s.io/apiextensions-apiserver, conversion.webhookConverter), with status 500, or 429 while it fills a cache.
func conversionFailed(status metav1.Status) bool {
	return (status.Code == http.StatusInternalServerError || status.Code == http.StatusTooManyRequests) &&
		strings.Contains(status.Message, "conversion webhook for ")
}

// conversionWebhook extracts the kind, and the reason of the webhook's failure, from the message.
var conversionWebhook = regexp.MustCompile(`(?s)conversion webhook for ([^,\s]+), Kind=(\w+) (?:failed: )?(.*)$`)

// ConversionFailure returns the kind that the API server could not convert, and the reason, if the error is a failed
// conversion.
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

// otherAnswer returns a fault if the error means that a response did not have the expected content, for example because
// the server is not an API server. Such a server counts as failing. The message does not quote the server. Other errors
// are returned unchanged.
func otherAnswer(err error) error {
	var status apierrors.APIStatus
	var known *fault.Error
	if errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.As(Classify(err), &known) {
		return err
	}
	return &fault.Error{
		Kind: fault.Transient, Reason: ReasonServerFailed, Message: "the cluster's answer is not the expected one of an API server", Cause: err,
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
