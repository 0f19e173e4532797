//go:build !linux

package process

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
)

// startTime asks ps, which every Unix has, for state and start of the process.
func startTime(pid int) (string, error) {
	cmd := exec.Command("ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = append(cmd.Environ(), "LC_ALL=C", "TZ=UTC")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", ErrGone
	}
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(out))
	if len(fields) < 2 || strings.HasPrefix(fields[0], "Z") {
		return "", ErrGone
	}
	return strings.Join(fields[1:], " "), nil
}
