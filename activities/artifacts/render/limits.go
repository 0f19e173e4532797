package render

import (
	"time"
)

// Limits bound what one artifact may cost.
type Limits struct {
	// LayerBytes is the size of a layer as transferred; 16 MiB. UnpackedBytes the size of an archive's
	// content, and of what a chart renders to; 64 MiB.
	LayerBytes    int64
	UnpackedBytes int64
	// DescriptorBytes is the size of a component descriptor; 4 MiB.
	DescriptorBytes int64
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
	SetDefault(&l.LayerBytes, 16<<20)
	SetDefault(&l.UnpackedBytes, 64<<20)
	SetDefault(&l.DescriptorBytes, 4<<20)
	SetDefault(&l.Entries, 10_000)
	SetDefault(&l.Objects, 5_000)
	SetDefault(&l.ObjectBytes, 1<<20)
	SetDefault(&l.RenderTime, 20*time.Second)
	SetDefault(&l.RenderWait, 90*time.Second)
	SetDefault(&l.RenderBytes, 512<<20)
	return l
}

// SetDefault sets a field that has its zero value.
func SetDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const (
	// runtimeDied is the exit code of a Go program that ran out of memory or stack, outOfTime that of a renderer that used
	// up its time on processors.
	runtimeDied = 2
	outOfTime   = 3
	// renderProcessors is how many processors a renderer uses at once.
	renderProcessors = 2
)
