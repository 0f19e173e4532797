// Package shared defines the names that Lifecycle Manager's users and clients
// depend on, whatever the version of a resource: states, labels, annotations,
// finalizers, field managers, namespaces, conditions and messages.
//
// Every value here is part of docs/contract.md: what already runs in clusters relies on it, and
// changing one breaks somebody's tooling, inventory or ownership.
package shared
