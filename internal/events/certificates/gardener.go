package certificates

import (
	"context"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// gardener requests certificates from Gardener's certificate management.
type gardener struct{}

func (gardener) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cert.gardener.cloud", Version: "v1alpha1", Kind: "Certificate"}
}

func (gardener) spec(o Options, w wanted) map[string]any {
	issuer := map[string]any{"name": o.IssuerName}
	if o.IssuerNamespace != "" {
		issuer["namespace"] = o.IssuerNamespace
	}
	spec := map[string]any{
		"commonName":   w.commonName,
		"secretName":   w.secret,
		"secretLabels": object(w.labels),
		"duration":     o.Duration.String(),
		"issuerRef":    issuer,
		"privateKey":   map[string]any{"algorithm": "RSA", "size": int64(o.KeySize)},
	}
	withNames(spec, "", w.names)
	return spec
}

func (gardener) status(certificate *unstructured.Unstructured) string {
	state, _, _ := unstructured.NestedString(certificate.Object, "status", "state")
	message, _, _ := unstructured.NestedString(certificate.Object, "status", "message")
	return says(state, message)
}

// renew requests a certificate that is newer than now. Meanwhile, the Secret keeps the present certificate. If a
// renewal was requested less than a day ago, renew does nothing, and the caller waits for it.
func (gardener) renew(ctx context.Context, o Options, certificate *unstructured.Unstructured) error {
	asked, _, _ := unstructured.NestedString(certificate.Object, "spec", "ensureRenewedAfter")
	now := o.Now().UTC()
	if at, err := time.Parse(time.RFC3339, asked); err == nil && now.Sub(at) < 24*time.Hour || certificate.GetUID() == "" {
		return nil
	}
	changed := certificate.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, now.Format(time.RFC3339), "spec", "ensureRenewedAfter"); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(certificate, client.MergeFromWithOptimisticLock{})
	return notWritten("renew", changed, o.Client.Patch(ctx, changed, patch, fieldOwner()))
}

// withNames adds DNS names, and IP addresses if the kind has a field for them. Otherwise IP addresses are added to
// the DNS names.
func withNames(spec map[string]any, addresses string, names []string) {
	var dns, ips []string
	for _, name := range names {
		if addresses != "" && net.ParseIP(name) != nil {
			ips = append(ips, name)
		} else {
			dns = append(dns, name)
		}
	}
	if len(dns) > 0 {
		spec["dnsNames"] = list(dns)
	}
	if len(ips) > 0 {
		spec[addresses] = list(ips)
	}
}
