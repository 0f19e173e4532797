// Package inventory records which objects a Manifest has in its cluster, and which of their fields it owns.
//
// Before it applies objects, the installation computes the next inventory with Union and finds with Obsolete the
// objects to remove. Afterwards Record adds uids and hashes, and drops what is gone. SetInventory writes an inventory
// and everything derived from it into a status. Owner distinguishes a Manifest's objects from the objects of others.
// ObjectHash and FingerprintOf detect drift from metadata alone.
//
// Invariants: an object is in the recorded inventory before it is applied, and stays there until it is gone from the
// cluster. Only SetInventory writes these fields of a status.
package inventory
