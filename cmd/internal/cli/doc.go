// Package cli has what all commands of lifecycle-manager share: flags in groups (Groups), log output (NewLog), the connections to
// Temporal and to the control plane (DialTemporal, ControlPlane), and the screen that shows Kymas (Screen).
package cli
