// Package inventory is the record of which objects a Manifest has in its cluster, and of what it owns of each.
//
// Union, Record and Obsolete compute the next inventory; SetInventory writes it into a status with all that is derived
// from it. Owner tells a Manifest's objects from those of others. ObjectHash and FingerprintOf make drift comparable
// without the objects themselves.
//
// Rules: an object is in the recorded inventory before it is applied, and stays there until it is gone from the cluster.
// Nothing but SetInventory writes these fields of a status.
package inventory
