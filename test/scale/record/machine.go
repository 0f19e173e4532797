package record

import (
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine says where it was measured.
type Machine struct {
	OS   string `json:"os"`
	CPU  string `json:"cpu"`
	Core int    `json:"cores"`
	// Memory is in MiB.
	Memory int64  `json:"memoryMiB"`
	Go     string `json:"go"`
}

// ThisMachine describes this machine. What it cannot find out stays empty.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, Core: runtime.NumCPU(), Go: runtime.Version()}
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
