package usage

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// Load is how much of the machine's processors was used since it was started.
type Load struct {
	// Busy is processor time of all processes, waiting the time in which a processor was idle while something waited
	// for a disk.
	Busy, Waiting time.Duration
}

// ReadLoad reads the load; it is zero where the system does not report it.
func ReadLoad() Load {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Load{}
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return parseLoad(line)
}

// parseLoad reads the first line of /proc/stat, see proc(5).
func parseLoad(line string) Load {
	fields := strings.Fields(line)
	const user, nice, system, waiting, irq, softIRQ = 1, 2, 3, 5, 6, 7
	if len(fields) <= softIRQ {
		return Load{}
	}
	ticks := func(all ...int) time.Duration {
		var sum time.Duration
		for _, field := range all {
			n, _ := strconv.ParseInt(fields[field], 10, 64)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
		return sum
	}
	return Load{Busy: ticks(user, nice, system, irq, softIRQ), Waiting: ticks(waiting)}
}
