package main

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

// usage is what a process and its children have used.
type usage struct {
	// cpu is processor time.
	cpu time.Duration
	// memory is what it has now, in bytes, with what it shares with its children counted once.
	memory int64
}

// watched are the processes that are measured, by what they are called in the record. It knows Linux only; elsewhere all of
// them use nothing.
type watched struct {
	mu   sync.Mutex
	pids map[string]int
	// past is the processor time of those that were stopped and may be started again.
	past map[string]time.Duration
	// most is the most memory that each had since mark.
	most map[string]int64
}

func newWatched() *watched {
	return &watched{pids: map[string]int{}, past: map[string]time.Duration{}, most: map[string]int64{}}
}

func (w *watched) add(name string, pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pids[name] = pid
}

// addFleet adds those of the local fleet's processes that belong to the control plane, which other programs have started.
func (w *watched) addFleet(folder string) {
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
				w.add(wanted, pid)
			}
		}
	}
}

// retire remembers what a process has used, before it ends.
func (w *watched) retire(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pid, known := w.pids[name]
	if !known {
		return
	}
	w.past[name] += useOf(pid, childrenByParent()).cpu
	delete(w.pids, name)
}

// mark begins to look for the most memory.
func (w *watched) mark() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = map[string]int64{}
}

// use reads what each process has used so far.
func (w *watched) use() map[string]usage {
	w.mu.Lock()
	defer w.mu.Unlock()
	children := childrenByParent()
	used := map[string]usage{}
	// This program's children are all measured by themselves.
	if one, known := readStat(os.Getpid()); known {
		used[self] = usage{cpu: one.own, memory: one.resident}
		w.most[self] = max(w.most[self], one.resident)
	}
	for name, past := range w.past {
		used[name] = usage{cpu: past}
	}
	for name, pid := range w.pids {
		one := useOf(pid, children)
		w.most[name] = max(w.most[name], one.memory)
		one.cpu += w.past[name]
		used[name] = one
	}
	return used
}

// peaks is the most memory that each process had since mark, as far as use was called.
func (w *watched) peaks() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most
}

// useOf reads what a process, its children that live and those that have ended have used.
func useOf(pid int, children map[int][]int) usage {
	one, known := readStat(pid)
	if !known {
		return usage{}
	}
	used := usage{cpu: one.own + one.ended, memory: one.resident}
	if len(children[pid]) > 0 {
		used.memory = proportional(pid, one.resident)
	}
	for _, child := range children[pid] {
		if one, known := readStat(child); known {
			used.cpu += one.own + one.ended
			used.memory += proportional(child, one.resident)
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
	// Linux tells times in hundredths of a second, whatever its own clock is.
	ticks := func(a, b int) time.Duration { return time.Duration(number(a)+number(b)) * 10 * time.Millisecond }
	return stat{
		parent: int(number(parent)), own: ticks(user, system), ended: ticks(childUser, childSystem), resident: number(pages) * int64(os.Getpagesize()),
	}, true
}

// proportional is the memory of a process, each part of which that it shares counted by the number of those that have it:
// PostgreSQL's processes all have the same buffers. It may not be told to us, then it is what is resident.
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
