package objectdiff

import (
	"fmt"
	"io"
	"strings"
)

// markOf returns the character that begins the line of an object.
func markOf(kind Kind) string {
	return map[Kind]string{Added: "+", Removed: "-", Changed: "~"}[kind]
}

// WriteText writes a line for each object, and one for each risk.
func WriteText(to io.Writer, changes []Change) error {
	for _, change := range changes {
		if _, err := fmt.Fprintf(to, "%s %s%s\n", markOf(change.Kind), change.Object, fieldsText(change)); err != nil {
			return err
		}
		for _, risk := range change.Risks {
			if _, err := fmt.Fprintf(to, "  ! %s: %s\n", risk.Kind, risk.Reason); err != nil {
				return err
			}
		}
	}
	return nil
}

func fieldsText(change Change) string {
	if len(change.Fields) == 0 {
		return ""
	}
	all := make([]string, 0, len(change.Fields))
	for _, field := range change.Fields {
		all = append(all, field.String())
	}
	text := ": " + strings.Join(all, ", ")
	if change.More > 0 {
		text += fmt.Sprintf(" and %d more", change.More)
	}
	return text
}

// String returns a text such as `.spec.replicas 1 -> 2`.
func (f Field) String() string {
	switch {
	case f.Hidden:
		return f.Path + " changes"
	case f.From == "":
		return f.Path + " added " + f.To
	case f.To == "":
		return f.Path + " removed " + f.From
	default:
		return f.Path + " " + f.From + " -> " + f.To
	}
}

// Summary counts changes, such as "objects: 2 added, 1 removed, 3 changed".
func Summary(changes []Change) string {
	counts := map[Kind]int{}
	risky := false
	for _, change := range changes {
		counts[change.Kind]++
		for _, risk := range change.Risks {
			risky = risky || risk.Kind == DataLoss
		}
	}
	if len(changes) == 0 {
		return "no object changes"
	}
	var parts []string
	for _, kind := range []Kind{Added, Removed, Changed} {
		if n := counts[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	text := "objects: " + strings.Join(parts, ", ")
	if risky {
		text += "; " + string(DataLoss)
	}
	return text
}
