package fault

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMessage is the greatest length of a fault's message in bytes. Every destination of a fault can hold that: a log, a
// status, an Event, and a workflow's history. A history refuses the whole result of an activity if a text in it is too
// large or not UTF-8.
const MaxMessage = 1 << 10

// Message returns the text as one line of valid UTF-8 with at most MaxMessage bytes.
func Message(text string) string { return Shorten(text, MaxMessage) }

// Shorten returns the text as one line of valid UTF-8 with at most limit bytes. It removes invisible characters and
// those that change how other characters are displayed. A final "…" marks omitted text. A text that already complies
// stays unchanged.
func Shorten(text string, limit int) string {
	const more = "…"
	// Removing line breaks and invisible characters may shorten the text, but scanning megabytes for them is not worth
	// it.
	if longest := 4 * (limit + len(more)); len(text) > longest {
		text = oneLine(text[:longest]) + more
	} else {
		text = oneLine(text)
	}
	if len(text) <= limit {
		return text
	}
	cut := max(limit-len(more), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// List joins as many elements as fit into limit bytes, and says how many more there are.
func List(all []string, separator string, limit int) string {
	whole := 0
	for _, each := range all {
		whole += len(separator) + len(each)
	}
	if len(all) == 0 || whole-len(separator) <= limit {
		return strings.Join(all, separator)
	}
	named, size := 0, 0
	for ; named < len(all)-1; named++ {
		next := size + len(all[named])
		if named > 0 {
			next += len(separator)
		}
		if next+len(andMore(len(all)-named-1)) > limit {
			break
		}
		size = next
	}
	if named == 0 {
		rest := andMore(len(all) - 1)
		return Shorten(all[0], limit-len(rest)) + rest
	}
	return strings.Join(all[:named], separator) + andMore(len(all)-named)
}

func andMore(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", number)
}

// oneLine joins the lines of a text and removes invalid and invisible characters.
func oneLine(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, unseen) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	var joined strings.Builder
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unseen(r) {
				return ' '
			}
			return r
		}, line))
		if line == "" {
			continue
		}
		if soFar := joined.String(); soFar != "" {
			if !strings.ContainsRune(":;,.", rune(soFar[len(soFar)-1])) {
				joined.WriteByte(';')
			}
			joined.WriteByte(' ')
		}
		joined.WriteString(line)
	}
	return joined.String()
}

// unseen reports whether r has no place in a line: controls, separators, and characters that change the direction of
// text.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}
