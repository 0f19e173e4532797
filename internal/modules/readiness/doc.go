// Package readiness observes a module in its cluster and decides which state its Manifest's status shows.
//
//	observed, err := readiness.Observe(ctx, cluster, manifest, readiness.Options{…})
//
// Observe reads the module once, without waiting: its resources (Observer.Resources, Compute), its manager
// (Observer.Manager) and its default custom resource (Observer.ModuleCR, MapState). Judge turns these into one
// Observed: state, reason and message. WithConflicts adds field ownership conflicts. Several modules that are read
// together share their LISTs with a Round.
//
// DefaultCROf and StateChecks return the default custom resource and the state checks of a Manifest.
//
// What must stay true:
//
//   - Nothing is Ready by default. A missing or unknown state is Processing.
//   - Nothing is written here.
//   - The reasons are part of the API: conditions, alerts and docs/operating.md use their names.
//   - Messages contain nothing that a container wrote, because that can be secret, and no counts or names of
//     pods, so that they stay the same over several reads.
package readiness
