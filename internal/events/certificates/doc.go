// Package certificates gives agents in remote clusters and the listener in the control plane certificates, and changes the
// authorities that sign them without either refusing the other. Options say how, NewIssuer makes what a Kyma's workflow asks
// for a certificate, and Rotation.Rotate is what the workflow of authorities does again and again.
//
// There are three issuers: this instance itself (self.go), cert-manager and Gardener's certificate management (external.go).
// Whoever signs, the trusted authorities are kept in one Secret (AuthoritySecret), and are published in the listener's. What
// to do next is decided by package rotation; package pki knows X.509.
package certificates
