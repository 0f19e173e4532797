// Package lists derives lists, and maps by a key, from lists. To change a list in place, use package slices of the
// standard library.
package lists

// Filter returns the chosen elements, or nil if there are none.
func Filter[T any](all []T, chosen func(T) bool) []T {
	var some []T
	for _, each := range all {
		if chosen(each) {
			some = append(some, each)
		}
	}
	return some
}

// Map returns the result of the function for each element. The result is never nil.
func Map[T, R any](all []T, become func(T) R) []R {
	made := make([]R, len(all))
	for i, each := range all {
		made[i] = become(each)
	}
	return made
}

// Pointers returns a pointer to each element, for example of a list from the API server. The result is never nil.
func Pointers[T any](all []T) []*T {
	made := make([]*T, len(all))
	for i := range all {
		made[i] = &all[i]
	}
	return made
}

// By returns the elements by their keys.
func By[K comparable, T any](all []T, key func(T) K) map[K]T {
	made := make(map[K]T, len(all))
	for _, each := range all {
		made[key(each)] = each
	}
	return made
}

// Set returns the keys of all elements.
func Set[K comparable, T any](all []T, key func(T) K) map[K]bool {
	made := make(map[K]bool, len(all))
	for _, each := range all {
		made[key(each)] = true
	}
	return made
}

// Find returns the first chosen element, and whether there is one.
func Find[T any](all []T, chosen func(T) bool) (found T, ok bool) {
	for _, each := range all {
		if chosen(each) {
			return each, true
		}
	}
	return found, false
}

// First returns the first chosen element, or the zero value.
func First[T any](all []T, chosen func(T) bool) T {
	found, _ := Find(all, chosen)
	return found
}

// TrueFirst compares two booleans: true sorts before false.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Keep returns the entries of a map with the listed keys.
func Keep(all map[string]string, keys []string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		if value, set := all[key]; set {
			kept[key] = value
		}
	}
	return kept
}
