package desired

import "slices"

// Recorded are the names on record and others, sorted, each once.
func Recorded(names, others []string) []string {
	all := slices.Concat(names, others)
	slices.Sort(all)
	return slices.Compact(all)
}
