package versions

import (
	"slices"
	"strings"
)

// suggested is the maximum number of names in a hint.
const suggested = 3

// DidYouMean returns the beginning of a hint with the known words that a mistyped word may stand for; empty if none is
// similar.
func DidYouMean(word string, known []string) string {
	near := nearest(word, known)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "? "
}

// nearest returns the known words with the fewest edits from a word, sorted, if the edits are few for its length.
func nearest(word string, known []string) []string {
	best := max(1, min(3, len(word)/3)) // short words are similar to any other
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

// distance returns the number of letters to insert, delete, replace or swap to make one word of another. If it is more
// than most, distance returns any number above most.
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
