package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// startTime combines the id of the machine's present run with the number of
// clock ticks between its start and the start of the process. Both are constant
// while the process lives, other than a time of day derived from them, which
// moves when the clock is set.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", ErrGone
	}
	if err != nil {
		return "", err
	}
	state, ticks, err := parseStat(stat)
	if err != nil {
		return "", err
	}
	if state == "Z" || state == "X" {
		return "", ErrGone
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + ticks, nil
}

// parseStat takes the state and the start time, fields 3 and 22, out of
// /proc/PID/stat (proc_pid_stat(5)). The second field is the program's name in
// parentheses and may itself contain spaces and parentheses, so fields are counted
// from the last closing one.
func parseStat(stat []byte) (state, ticks string, err error) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", "", fmt.Errorf("process status without a program name: %q", stat)
	}
	fields := strings.Fields(string(stat[end+1:]))
	// Counted from the third.
	const stateField, startField = 0, 19
	if len(fields) <= startField {
		return "", "", fmt.Errorf("process status with %d fields after the program name", len(fields))
	}
	return fields[stateField], fields[startField], nil
}
