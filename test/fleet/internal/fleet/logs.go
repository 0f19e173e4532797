package fleet

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// tailBytes bounds what is read of a log.
const tailBytes = 32 << 10

// LastLines returns the end of a log file: up to the given number of lines.
func LastLines(path string, count int) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read a log: %w", err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return "", fmt.Errorf("read a log: %w", err)
		}
	}
	data, err := io.ReadAll(io.LimitReader(file, tailBytes))
	if err != nil {
		return "", fmt.Errorf("read a log: %w", err)
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "\n"), nil
}
