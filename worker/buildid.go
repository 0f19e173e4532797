package worker

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// BuildID identifies the running binary by a digest of its file, so that equal builds have equal ids,
// wherever they were made.
func BuildID() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the executable: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open the executable: %w", err)
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read the executable: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}
