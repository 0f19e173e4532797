// Package readiness observes a module in its cluster and judges what its Manifest's status says.
//
// Observe reads the module once, and Judge decides: its resources by the rules of kstatus, its manager, and its default
// custom resource by MapState. Observed is the result. StateChecks and DefaultCROf read what the Manifest says of both.
//
// Rules: nothing is Ready by default, and nothing is written here. The reasons are part of the API: conditions,
// alerts and docs name them.
package readiness
