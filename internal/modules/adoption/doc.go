// Package adoption takes over modules that Lifecycle Manager's upstream installed. It builds the inventory that
// upstream does not have and moves the ownership of fields to us, so that the objects in the cluster stay unchanged
// (docs/migration.md).
//
// Adopt is the entry point. Every activity on a Manifest calls it before it relies on the inventory.
package adoption
