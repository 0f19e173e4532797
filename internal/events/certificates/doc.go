// Package certificates issues certificates for agents in remote clusters and for the listener in the control plane.
// It replaces the authorities that sign them without a moment in which an agent and the listener refuse each other.
//
//	issuer, err := certificates.NewIssuer(options)
//	issued, err := issuer.Ensure(ctx, request)    // in a Kyma's synchronization
//
//	rotation, err := certificates.New(options)
//	rotated, err := rotation.Rotate(ctx)          // in the workflow of authorities, repeatedly
//
// There are three issuers: this instance itself (self.go), cert-manager, and Gardener's certificate management (both
// external.go). For all three, the Secret AuthoritySecret holds the trusted authorities (keeper.go). They are also
// published in the listener's Secret. Package rotation decides what to do next. Package pki handles X.509.
//
// What must stay true:
//
//   - After each single write, agents and listener still accept each other. A process may die between any two
//     writes.
//   - An authority becomes the present one only after the grace period in which agents receive the new bundle. It
//     stays trusted for two grace periods after the last agent stopped using it.
//   - Only one issuer writes a Secret. The Certificate of the former issuer is removed first.
//   - Private keys and secret values are in no message, annotation or version.
//   - If everything is as desired, nothing is written.
package certificates
