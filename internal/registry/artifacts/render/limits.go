package render

import (
	"cmp"
	"time"
)

// Limits bounds the cost of rendering one artifact.
type Limits struct {
	// UnpackedBytes is the greatest size of an archive's content, and of a rendered chart; 64 MiB by default.
	UnpackedBytes int64
	// Entries is the greatest number of entries of an archive; 10,000 by default. Objects is the
	// greatest number of objects of a module; 5,000 by default.
	Entries int
	Objects int
	// ObjectBytes is the greatest size of one object as JSON; 1 MiB by default. API servers accept requests of 3 MiB,
	// and etcd 1.5 MiB. Managed fields and the status need a share.
	ObjectBytes int
	// RenderTime is the greatest processor time of a rendering; 20 s by default. Exceeding it is the chart's fault.
	// RenderWait is the longest wait for a rendering; 90 s by default. Exceeding it is the fault of a busy node, and is
	// retried.
	RenderTime time.Duration
	RenderWait time.Duration
	// RenderBytes is the greatest memory of a renderer's process; 512 MiB by default.
	RenderBytes int64
}

// WithDefaults returns the limits with defaults in place of zeros.
func (l Limits) WithDefaults() Limits {
	l.UnpackedBytes = cmp.Or(l.UnpackedBytes, 64<<20)
	l.Entries = cmp.Or(l.Entries, 10_000)
	l.Objects = cmp.Or(l.Objects, 5_000)
	l.ObjectBytes = cmp.Or(l.ObjectBytes, 1<<20)
	l.RenderTime = cmp.Or(l.RenderTime, 20*time.Second)
	l.RenderWait = cmp.Or(l.RenderWait, 90*time.Second)
	l.RenderBytes = cmp.Or(l.RenderBytes, 512<<20)
	return l
}

const (
	// runtimeDied is the exit code of a Go program that ran out of memory or stack. outOfTime is the exit code of a
	// renderer that used up its processor time.
	runtimeDied = 2
	outOfTime   = 3
	// renderProcessors is the number of processors that a renderer uses.
	renderProcessors = 2
)
