package render

import (
	"bytes"
	"iter"
)

// Split yields the YAML documents of a file. Like in kubectl and Helm, a line that begins with `---` begins a document.
// Like in Helm, the rest of that line belongs to the document: templates that trim white space render `---apiVersion:
// v1`. kubectl allows only a comment there. Split skips a document without lines.
func Split(content []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		begin := 0
		for at := 0; at < len(content); {
			end := len(content)
			if length := bytes.IndexByte(content[at:], '\n'); length >= 0 {
				end = at + length + 1
			}
			rest, separates := bytes.CutPrefix(content[at:end], []byte("---"))
			if !separates {
				at = end
				continue
			}
			if at > begin && !yield(content[begin:at]) {
				return
			}
			at, begin = end, end
			// The following lines are not indented, so remove the indentation of the rest of this line.
			if rest = bytes.TrimLeft(rest, " \t\r\n"); len(rest) > 0 && rest[0] != '#' {
				begin = end - len(rest)
			}
		}
		if begin < len(content) {
			yield(content[begin:])
		}
	}
}
