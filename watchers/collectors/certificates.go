package collectors

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
	"github.com/kyma-project/lifecycle-manager/internal/platform/pages"
)

// certificatePage is the page size for listing the metadata of Secrets.
const certificatePage = 500

// CertificatesOptions configure Certificates.
type CertificatesOptions struct {
	// Secrets reads the control plane without a cache.
	Secrets client.Reader
	// Namespace is the namespace of the certificates, and ListenerSecret the name of the listener's Secret.
	Namespace, ListenerSecret string
	// ManagedBy is the instance's value of the label `managed-by`.
	ManagedBy string
	// RenewBuffer is how long a renewal may be overdue before it counts as late.
	RenewBuffer time.Duration
	// ExpiryWindow is how long before its expiry the listener's certificate counts as close to expiry.
	ExpiryWindow time.Duration
	Log          logr.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Certificates exports which agents' certificates should have been renewed, and whether the listener's certificate
// expires soon. The leader reads the Secrets once a minute, and only the metadata of agents' Secrets; a scrape reads
// nothing. Values that could not be read are not exported.
type Certificates struct {
	CertificatesOptions
	notRenewed, closeToExpiry *prometheus.Desc

	mu sync.Mutex
	// renewals holds the renewal times of agents' certificates by Kyma; nil if they could not be read.
	renewals map[string]time.Time
	// listenerKnown reports whether the listener's Secret was read. listenerEnd is the expiry of its certificate; zero
	// if it has no valid certificate.
	listenerKnown bool
	listenerEnd   time.Time
}

// AddCertificates registers the collector and lets the manager run it.
func AddCertificates(mgr manager.Manager, registry prometheus.Registerer, o CertificatesOptions) error {
	c := NewCertificates(o)
	if err := registry.Register(c); err != nil {
		return fmt.Errorf("register the certificate metrics: %w", err)
	}
	return mgr.Add(c)
}

// NewCertificates returns a collector. A manager must run it.
func NewCertificates(o CertificatesOptions) *Certificates {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Certificates{
		CertificatesOptions: o, notRenewed: metrics.CertificatesNotRenewed(), closeToExpiry: metrics.ListenerCertificateCloseToExpiry(),
	}
}

// Start reads the Secrets until ctx is done. It implements manager.Runnable.
func (c *Certificates) Start(ctx context.Context) error {
	poll(ctx, c.Log, "read the certificates of agents and the listener, will try again", c.read)
	return nil
}

// NeedLeaderElection returns true, because only the leader exports these metrics.
func (c *Certificates) NeedLeaderElection() bool { return true }

// read reads all Secrets once.
func (c *Certificates) read(ctx context.Context) error {
	renewals, agentsErr := c.readAgents(ctx)
	end, listenerErr := c.readListener(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renewals, c.listenerKnown, c.listenerEnd = renewals, listenerErr == nil, end
	return errors.Join(agentsErr, listenerErr)
}

func (c *Certificates) readAgents(ctx context.Context) (map[string]time.Time, error) {
	selector, err := certificates.AgentSecrets(c.ManagedBy)
	if err != nil {
		return nil, err
	}
	renewals := map[string]time.Time{}
	err = pages.Metadata(ctx, c.Secrets, corev1.SchemeGroupVersion.WithKind("Secret"), certificatePage, func(secret *metav1.PartialObjectMetadata) bool {
		// No agent uses a certificate without this annotation yet.
		if at, err := time.Parse(time.RFC3339, secret.Annotations[certificates.AnnotationRenewal]); err == nil {
			renewals[secret.Labels[shared.LabelKymaName]] = at
		}
		return true
	}, client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, fmt.Errorf("list the certificates of agents: %w", err)
	}
	return renewals, nil
}

func (c *Certificates) readListener(ctx context.Context) (time.Time, error) {
	secret := &corev1.Secret{}
	err := c.Secrets.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.ListenerSecret}, secret)
	if err != nil {
		return time.Time{}, client.IgnoreNotFound(fmt.Errorf("read Secret %s/%s: %w", c.Namespace, c.ListenerSecret, err))
	}
	block, _ := pem.Decode(secret.Data[shared.CertificateKey])
	if block == nil {
		return time.Time{}, nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // an invalid certificate counts as none
	}
	return leaf.NotAfter, nil
}

// Describe implements prometheus.Collector.
func (c *Certificates) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.notRenewed
	descriptions <- c.closeToExpiry
}

// Collect implements prometheus.Collector.
func (c *Certificates) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	for kyma, renewal := range c.renewals {
		if now.After(renewal.Add(c.RenewBuffer)) {
			out <- prometheus.MustNewConstMetric(c.notRenewed, prometheus.GaugeValue, 1, kyma)
		}
	}
	if c.listenerKnown {
		isClose := 0.0
		if now.Add(c.ExpiryWindow).After(c.listenerEnd) {
			isClose = 1
		}
		out <- prometheus.MustNewConstMetric(c.closeToExpiry, prometheus.GaugeValue, isClose)
	}
}
