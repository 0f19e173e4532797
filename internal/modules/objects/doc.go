// Package objects reads, lists and deletes objects of a cluster for all who work in one.
//
// Target is a Manifest in its cluster. Surveyor reads which objects carry certain labels; Pages is the one paged LIST,
// Delete the one deletion; only a Job that is replaced (package apply) is deleted otherwise, as a conflict matters there. Describe, FirstOf and Shorten word objects for messages.
//
// Rule: an object is deleted only with the uid that was read before.
package objects
