// Package shared defines the names that Lifecycle Manager's users and clients depend on, whatever the version of a
// resource: states, labels, annotations, finalizers, field managers, namespaces, conditions and messages.
//
// Every value here is part of docs/contract.md. Objects in existing clusters carry these values, so a changed one would
// break users' tools, the inventory of a module or the ownership of its fields.
package shared
