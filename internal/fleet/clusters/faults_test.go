package clusters

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	tests := []struct {
		name   string
		err    error
		kind   fault.Kind
		reason string
	}{
		{"no server listens", &url.Error{Op: "Get", URL: "https://x", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, fault.Unreachable, ReasonUnreachableNetwork},
		{"the name does not resolve", &url.Error{Err: &net.DNSError{Err: "no such host"}}, fault.Unreachable, ReasonUnreachableNetwork},
		{"no answer in time", &url.Error{Err: context.DeadlineExceeded}, fault.Unreachable, ReasonUnreachableTimeout},
		{"the certificate is from another authority", &url.Error{Err: x509.UnknownAuthorityError{}}, fault.Unreachable, ReasonUnreachableTLS},
		{"the certificate is for another host", &url.Error{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}}, fault.Unreachable, ReasonUnreachableTLS},
		{"the response is too large", fmt.Errorf("read: %w", ErrResponseTooLarge), fault.Unreachable, ReasonResponseTooLarge},
		{"401", apierrors.NewUnauthorized("no"), fault.Unreachable, ReasonUnreachableUnauthorized},
		{"403", apierrors.NewForbidden(pods, "a", nil), fault.Unreachable, ReasonUnreachableForbidden},
		{"409", apierrors.NewConflict(pods, "a", nil), fault.Transient, ReasonConflict},
		{"429", apierrors.NewTooManyRequests("slow down", 3), fault.Transient, ReasonThrottled},
		{"500", apierrors.NewInternalError(errors.New("boom")), fault.Transient, ReasonServerFailed},
		{"a dead conversion webhook", apierrors.NewInternalError(errors.New("conversion webhook for a.example.com/v1, Kind=A failed: Post")), fault.Transient, ReasonConversionFailed},
		{"a dead conversion webhook that blocks the filling of a cache", apierrors.NewTooManyRequests("storage is (re)initializing: failed to list: conversion webhook for a.example.com/v1, Kind=A failed: Post", 1), fault.Transient, ReasonConversionFailed},
		{"a message that only mentions a conversion webhook", apierrors.NewServiceUnavailable("conversion webhook for a"), fault.Transient, ReasonServerFailed},
		{"503", apierrors.NewServiceUnavailable("later"), fault.Transient, ReasonServerFailed},
		{"504", apierrors.NewServerTimeout(pods, "get", 1), fault.Transient, ReasonServerFailed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := fault.Of(Classify(fmt.Errorf("apply Deployment a/b: %w", test.err)))
			require.Equal(t, test.kind, f.Kind)
			require.Equal(t, test.reason, f.Reason)
			require.Contains(t, f.Message, "apply Deployment a/b")
		})
	}
}

func TestClassifyReturnsErrorsForTheCallerUnchanged(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for _, err := range []error{
		nil, context.Canceled, apierrors.NewNotFound(pods, "a"), apierrors.NewBadRequest("bad"), errors.New("other"),
		fault.New(fault.Rejected, "Known", "known"),
	} {
		require.Equal(t, err, Classify(err))
	}
}

func TestClassifyKeepsTheRetryAfterOfTheServer(t *testing.T) {
	t.Parallel()
	var f *fault.Error
	require.ErrorAs(t, Classify(apierrors.NewTooManyRequests("slow down", 3)), &f)
	require.Equal(t, 3*time.Second, f.RetryAfter)
}
