// Package bundle turns the rendered layers of a module into objects that can be applied, and plans where each object
// goes in a cluster.
//
//	b, size, err := bundle.Build(rendered, adaptation)
//	plan, err := bundle.PlanOf(ctx, manifest, b, mapper, remoteNamespace)
//	body := plan.Stages[stage][i].Object.Body.Fill(owner)
//
// Build encodes the rendered objects once for all clusters. An Adaptation holds the changes that some Manifests make:
// localized images and the image pull Secret. PlanOf places the objects of a bundle in the cluster of one Manifest,
// in stages, and selects the hooks that run this time. Adapted returns the same objects without encoding them, for
// previews.
//
// What must stay true:
//
//   - A Bundle is immutable, because all Manifests that install it share it. template.Fill inserts the parts that
//     differ per Manifest.
//   - A Bundle never holds injected data of Secrets. Object.Injected returns a copy of the object for one plan.
//   - Fields that others own by design are not part of a Bundle (ignored.go).
package bundle
