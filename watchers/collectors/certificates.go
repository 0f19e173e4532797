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
)

// certificatePage is the size of a page of Secrets' metadata.
const certificatePage = 500

// CertificatesOptions are what Certificates needs.
type CertificatesOptions struct {
	// Secrets reads the control plane live.
	Secrets client.Reader
	// Namespace has the certificates, and ListenerSecret is the name of the listener's.
	Namespace, ListenerSecret string
	// ManagedBy is the instance's value of the label `managed-by`.
	ManagedBy string
	// RenewBuffer is how long after its time a renewal is late.
	RenewBuffer time.Duration
	// ExpiryWindow is how long before its end the listener's certificate is close to it.
	ExpiryWindow time.Duration
	Log          logr.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// Certificates exports which agents' certificates should have been renewed, and whether the listener's is about to expire.
// It reads the Secrets once a minute, in the leader, and a scrape reads nothing; of agents' Secrets it reads the metadata
// only. What could not be read is not exported.
type Certificates struct {
	CertificatesOptions
	notRenewed, closeToExpiry *prometheus.Desc

	mu sync.Mutex
	// renewals is when the certificates of agents are to be renewed, by Kyma; nil where that could not be read.
	renewals map[string]time.Time
	// listenerKnown is whether the listener's Secret was read, and listenerEnd when its certificate expires; zero where it
	// has none that can be read.
	listenerKnown bool
	listenerEnd   time.Time
}

// AddCertificates registers the collector, and has the manager run it.
func AddCertificates(mgr manager.Manager, registry prometheus.Registerer, o CertificatesOptions) error {
	c := NewCertificates(o)
	if err := registry.Register(c); err != nil {
		return fmt.Errorf("register the metrics of certificates: %w", err)
	}
	return mgr.Add(c)
}

// NewCertificates returns a collector, which is to be run by a manager.
func NewCertificates(o CertificatesOptions) *Certificates {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Certificates{
		CertificatesOptions: o, notRenewed: metrics.CertificatesNotRenewed(), closeToExpiry: metrics.ListenerCertificateCloseToExpiry(),
	}
}

// Start reads until ctx is done. It implements manager.Runnable.
func (c *Certificates) Start(ctx context.Context) error {
	poll(ctx, c.Log, "cannot read the certificates of agents and listener, will try again", c.read)
	return nil
}

// NeedLeaderElection is true: only the leader exports them.
func (c *Certificates) NeedLeaderElection() bool { return true }

// read reads once.
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
	for page := ""; ; {
		secrets := &metav1.PartialObjectMetadataList{}
		secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		options := []client.ListOption{client.InNamespace(c.Namespace), client.MatchingLabelsSelector{Selector: selector}, client.Limit(certificatePage), client.Continue(page)}
		if err := c.Secrets.List(ctx, secrets, options...); err != nil {
			return nil, fmt.Errorf("list the certificates of agents: %w", err)
		}
		for i := range secrets.Items {
			secret := &secrets.Items[i]
			// One that does not say it is not known to any agent yet.
			if at, err := time.Parse(time.RFC3339, secret.Annotations[certificates.AnnotationRenewal]); err == nil {
				renewals[secret.Labels[shared.LabelKymaName]] = at
			}
		}
		if page = secrets.Continue; page == "" {
			return renewals, nil
		}
	}
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
		return time.Time{}, nil //nolint:nilerr // it is as good as none
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
