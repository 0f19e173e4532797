// Package objects reads, lists and deletes objects of a cluster for all packages that work in one.
//
// Target is a Manifest in its cluster. Surveyor reads the objects with certain labels. All paged LISTs use Pages, and
// all deletions use Delete. The exception is a replaced Job (package apply), because a conflict matters there.
// Describe, FirstOf and Shorten word objects for messages.
//
// What must stay true: an object is deleted only with the uid that was read before.
package objects
