package main

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// machine says where it was measured.
type machine struct {
	OS   string `json:"os"`
	CPU  string `json:"cpu"`
	Core int    `json:"cores"`
	// Memory is in MiB.
	Memory int64  `json:"memoryMiB"`
	Go     string `json:"go"`
}

// thisMachine describes this machine. What it cannot find out stays empty.
func thisMachine() machine {
	m := machine{OS: runtime.GOOS + "/" + runtime.GOARCH, Core: runtime.NumCPU(), Go: runtime.Version()}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.OS += " " + strings.TrimSpace(string(kernel))
	}
	m.CPU = valueIn("/proc/cpuinfo", "model name")
	kib, _, _ := strings.Cut(valueIn("/proc/meminfo", "MemTotal"), " ")
	if n, err := strconv.ParseInt(kib, 10, 64); err == nil {
		m.Memory = n >> 10
	}
	return m
}

// valueIn is the first value with this name in a file of lines such as NAME: VALUE.
func valueIn(path, name string) string {
	text, err := os.ReadFile(path) //nolint:gosec // files of the kernel
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// load is how much of the machine's processors was used since it was started.
type load struct {
	// busy is processor time of all processes, waiting the time in which a processor was idle while something waited for a disk.
	busy, waiting time.Duration
}

// machineLoad reads the load; it is nothing where that is not told.
func machineLoad() load {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return load{}
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return parseLoad(line)
}

// parseLoad reads the first line of /proc/stat, see proc(5).
func parseLoad(line string) load {
	fields := strings.Fields(line)
	const user, nice, system, waiting, irq, softIRQ = 1, 2, 3, 5, 6, 7
	if len(fields) <= softIRQ {
		return load{}
	}
	ticks := func(all ...int) time.Duration {
		var sum time.Duration
		for _, field := range all {
			n, _ := strconv.ParseInt(fields[field], 10, 64)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
		return sum
	}
	return load{busy: ticks(user, nice, system, irq, softIRQ), waiting: ticks(waiting)}
}

// commit is that of the tree, with a + behind it where files were changed; empty outside of a repository.
func commit(ctx context.Context) string {
	id, err := output(ctx, nil, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(id))
	if changed, err := output(ctx, nil, "git", "status", "--porcelain", "--untracked-files=no"); err == nil && len(changed) > 0 {
		text += "+"
	}
	return text
}
