package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"time"
)

// speaker prints what happens, each line with the time since the start.
type speaker struct {
	out   io.Writer
	now   func() time.Time
	begin time.Time
}

func newSpeaker(out io.Writer, now func() time.Time) *speaker {
	return &speaker{out: out, now: now, begin: now()}
}

func (s *speaker) say(format string, arguments ...any) {
	// Nothing sensible can be done about a closed terminal.
	_, _ = fmt.Fprintf(s.out, "%6.1fs  %s\n", s.now().Sub(s.begin).Seconds(), fmt.Sprintf(format, arguments...))
}

// text writes a text as it is.
func (s *speaker) text(text string) { _, _ = io.WriteString(s.out, text) }

// relay passes on the lines that another program writes, with the time since the
// demo's start in place of that program's own.
type relay struct {
	to      *speaker
	partial []byte
	// all is everything that was written, for an error's text.
	all bytes.Buffer
}

var clock = regexp.MustCompile(`^\s*\d+\.\d+s\s+`)

// Write implements io.Writer.
func (r *relay) Write(data []byte) (int, error) {
	r.all.Write(data)
	r.partial = append(r.partial, data...)
	for {
		end := bytes.IndexByte(r.partial, '\n')
		if end < 0 {
			return len(data), nil
		}
		line := string(clock.ReplaceAll(r.partial[:end], nil))
		r.partial = r.partial[end+1:]
		if line != "" {
			r.to.say("  %s", line)
		}
	}
}
