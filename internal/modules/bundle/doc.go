// Package bundle turns rendered layers of a module into objects that can be applied, and plans which of them go where in
// a cluster.
//
// Build encodes the rendered objects once for all clusters; an Adaptation is what some Manifests change in them. PlanOf
// places the objects of a bundle in the cluster of one Manifest, in stages and with the hooks that run this time.
//
// Rules: a Bundle is never changed, since all Manifests that install it share it; what differs per Manifest is filled in
// by template.Fill. Fields that others own by design are not part of it (ignored.go).
package bundle
