// Package usage reads from /proc what processes ([Watched]) and the machine ([ReadLoad]) have used. Outside of Linux
// everything is zero.
package usage

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// self is what this program is called in the record.
const self = "scale"

// Usage is what a process and its children have used.
type Usage struct {
	// CPU is processor time.
	CPU time.Duration
	// Memory is what it has now, in bytes, with what it shares with its children counted once.
	Memory int64
}

// Watched are the processes that are measured, by what they are called in the record. It knows Linux only; elsewhere all of
// them use nothing.
type Watched struct {
	mu   sync.Mutex
	pids map[string]int
	// past is the processor time of those that were stopped and may be started again.
	past map[string]time.Duration
	// most is the most memory that each had since mark.
	most map[string]int64
}

// New watches no process yet.
func New() *Watched {
	return &Watched{pids: map[string]int{}, past: map[string]time.Duration{}, most: map[string]int64{}}
}

// Add watches a process under this name.
func (w *Watched) Add(name string, pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pids[name] = pid
}

// AddFleet adds those of the local fleet's processes that belong to the control plane, which other programs have started.
func (w *Watched) AddFleet(folder string) {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, entry := range entries {
		line, err := os.ReadFile(filepath.Clean(entry))
		if err != nil || !bytes.Contains(line, []byte(folder)) || bytes.Contains(line, []byte("remote-")) {
			continue
		}
		arguments := strings.Split(string(line), "\x00")
		name := filepath.Base(arguments[0])
		for _, wanted := range []string{"kube-apiserver", "etcd", "temporal", "kube-controller-manager", "registry"} {
			if name != wanted && (len(arguments) < 2 || arguments[1] != wanted) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(entry))); err == nil {
				w.Add(wanted, pid)
			}
		}
	}
}

// Retire remembers what a process has used, before it ends.
func (w *Watched) Retire(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pid, known := w.pids[name]
	if !known {
		return
	}
	w.past[name] += useOf(pid, childrenByParent()).CPU
	delete(w.pids, name)
}

// Mark begins to measure the most memory.
func (w *Watched) Mark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = map[string]int64{}
}

// Use reads what each process has used so far.
func (w *Watched) Use() map[string]Usage {
	w.mu.Lock()
	defer w.mu.Unlock()
	children := childrenByParent()
	used := map[string]Usage{}
	// This program's children are all measured by themselves.
	if one, known := readStat(os.Getpid()); known {
		used[self] = Usage{CPU: one.own, Memory: one.resident}
		w.most[self] = max(w.most[self], one.resident)
	}
	for name, past := range w.past {
		used[name] = Usage{CPU: past}
	}
	for name, pid := range w.pids {
		one := useOf(pid, children)
		w.most[name] = max(w.most[name], one.Memory)
		one.CPU += w.past[name]
		used[name] = one
	}
	return used
}

// Peaks is the most memory that each process had since mark, as far as use was called.
func (w *Watched) Peaks() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// useOf reads what a process, its children that live and those that have ended have used.
func useOf(pid int, children map[int][]int) Usage {
	one, known := readStat(pid)
	if !known {
		return Usage{}
	}
	used := Usage{CPU: one.own + one.ended, Memory: one.resident}
	if len(children[pid]) > 0 {
		used.Memory = proportional(pid, one.resident)
	}
	for _, child := range children[pid] {
		if one, known := readStat(child); known {
			used.CPU += one.own + one.ended
			used.Memory += proportional(child, one.resident)
		}
	}
	return used
}

// stat is what is used of /proc/PID/stat.
type stat struct {
	parent int
	// own is the processor time of the process, ended that of its children that have ended.
	own, ended time.Duration
	resident   int64
}

func readStat(pid int) (stat, bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(line)
}

// parseStat reads a line of /proc/PID/stat, see proc(5).
func parseStat(line []byte) (stat, bool) {
	// The second field, the name, may contain anything; it ends with the last parenthesis. The next is the third one.
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	const parent, user, system, childUser, childSystem, pages = 1, 11, 12, 13, 14, 21
	if len(fields) <= pages {
		return stat{}, false
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(fields[field], 10, 64)
		return n
	}
	// Linux reports times in hundredths of a second, whatever its own clock is.
	ticks := func(a, b int) time.Duration { return time.Duration(number(a)+number(b)) * 10 * time.Millisecond }
	return stat{
		parent: int(number(parent)), own: ticks(user, system), ended: ticks(childUser, childSystem), resident: number(pages) * int64(os.Getpagesize()),
	}, true
}

// proportional is the memory of a process, each part of which that it shares counted by the number of those that have it:
// PostgreSQL's processes all have the same buffers. Where that may not be read, it is the resident memory.
func proportional(pid int, resident int64) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return resident
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Pss:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return resident
}

func childrenByParent() map[int][]int {
	children := map[int][]int{}
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		if one, known := readStat(pid); known {
			children[one.parent] = append(children[one.parent], pid)
		}
	}
	return children
}
