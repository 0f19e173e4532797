package certificates

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// certManager requests certificates from cert-manager.
type certManager struct{}

func (certManager) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
}

func (c certManager) spec(o Options, w wanted) map[string]any {
	issuer := "ClusterIssuer"
	if o.IssuerNamespace != "" {
		issuer = "Issuer"
	}
	spec := map[string]any{
		"commonName":     w.commonName,
		"secretName":     w.secret,
		"secretTemplate": map[string]any{"labels": object(w.labels)},
		"duration":       o.Duration.String(),
		"renewBefore":    o.RenewBefore.String(),
		"issuerRef":      map[string]any{"name": o.IssuerName, "kind": issuer, "group": c.kind().Group},
		"privateKey":     map[string]any{"algorithm": "RSA", "size": int64(o.KeySize), "rotationPolicy": "Always"},
		"usages":         list([]string{"digital signature", "key encipherment", "client auth", "server auth"}),
	}
	withNames(spec, "ipAddresses", w.names)
	return spec
}

func (certManager) status(certificate *unstructured.Unstructured) string {
	ready, _ := condition(certificate, "Ready")
	reason, _, _ := unstructured.NestedString(ready, "reason")
	message, _, _ := unstructured.NestedString(ready, "message")
	return says(reason, message)
}

// renew sets the condition that makes cert-manager issue a certificate again, as cert-manager's command line does.
// Meanwhile, the Secret keeps the present certificate.
func (c certManager) renew(ctx context.Context, o Options, certificate *unstructured.Unstructured) error {
	issuing, _ := condition(certificate, "Issuing")
	if status, _, _ := unstructured.NestedString(issuing, "status"); status == "True" || certificate.GetUID() == "" {
		return nil
	}
	changed := certificate.DeepCopy()
	conditions, _, err := unstructured.NestedSlice(changed.Object, "status", "conditions")
	if err != nil {
		return err
	}
	wanted := map[string]any{
		"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "The authority has changed, or the certificate is revoked",
		"lastTransitionTime": o.Now().UTC().Format(time.RFC3339), "observedGeneration": changed.GetGeneration(),
	}
	if _, at := condition(certificate, "Issuing"); at >= 0 {
		conditions[at] = wanted
	} else {
		conditions = append(conditions, wanted)
	}
	if err := unstructured.SetNestedSlice(changed.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	return notWritten("renew", changed, o.Client.Status().Update(ctx, changed, fieldOwner()))
}

// condition returns the condition of this type and its index in the list; nil and -1 if there is none.
func condition(object *unstructured.Unstructured, kind string) (map[string]any, int) {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return nil, -1
	}
	for i, each := range conditions {
		if found, ok := each.(map[string]any); ok && found["type"] == kind {
			return found, i
		}
	}
	return nil, -1
}
