package render

import (
	"cmp"
	"time"
)

// Limits bound what the rendering of one artifact may cost.
type Limits struct {
	// UnpackedBytes is the size of an archive's content, and of what a chart renders to; 64 MiB.
	UnpackedBytes int64
	// Entries is the number of entries of an archive; 10,000. Objects of one module; 5,000.
	Entries int
	Objects int
	// ObjectBytes is the size of one object as JSON; 1 MiB. An API server takes requests of 3 MiB and etcd of
	// 1.5 MiB, of which managed fields and the status need their share.
	ObjectBytes int
	// RenderTime is what the rendering of a chart may take of processors; 20 s. More is the chart's fault. RenderWait is
	// how long it is waited for; 90 s. More is the fault of a node that is busy, and tried again.
	RenderTime time.Duration
	RenderWait time.Duration
	// RenderBytes is the memory that a rendering may take, the renderer's own included; 512 MiB.
	RenderBytes int64
}

// WithDefaults returns the limits with a default for each that is zero.
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
	// runtimeDied is the exit code of a Go program that ran out of memory or stack, outOfTime that of a renderer that used
	// up its time on processors.
	runtimeDied = 2
	outOfTime   = 3
	// renderProcessors is how many processors a renderer uses at once.
	renderProcessors = 2
)
