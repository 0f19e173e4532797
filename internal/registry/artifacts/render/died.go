//go:build !race

package render

// isOutOfMemory tells whether this is the exit code of a Go program that ran out of memory or stack.
func isOutOfMemory(code int) bool { return code == runtimeDied }
