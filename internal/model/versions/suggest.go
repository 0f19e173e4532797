package versions

import (
	"slices"
	"strings"
)

// suggested is how many names a hint gives at most.
const suggested = 3

// DidYouMean names those of the known words that a mistyped one may stand for, as the beginning of a hint; empty where
// none is near.
func DidYouMean(word string, known []string) string {
	near := nearest(word, known)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "? "
}

// nearest returns those known words that are fewest edits away from a word, in order, where those are few for its
// length.
func nearest(word string, known []string) []string {
	best := max(1, min(3, len(word)/3)) // of short words, any is near to any
	var near []string
	for _, other := range slices.Compact(slices.Sorted(slices.Values(known))) {
		switch edits := distance(strings.ToLower(word), strings.ToLower(other), best); {
		case edits > best || other == word:
		case edits < best:
			best, near = edits, []string{other}
		default:
			near = append(near, other)
		}
	}
	return near[:min(len(near), suggested)]
}

// distance is the number of letters to insert, delete, replace or swap with their neighbour to make one word of
// another; anything above most where it is more than that.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
