// Package adoption takes over modules that Lifecycle Manager's upstream installed: it makes the inventory that upstream
// does not have, and moves the ownership of fields to us, so that what runs in the cluster stays as it is
// (docs/migration.md).
//
// Adopt is the entry point; every activity on a Manifest calls it before it relies on the inventory.
package adoption
