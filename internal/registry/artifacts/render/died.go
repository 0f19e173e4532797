//go:build !race

package render

// isOutOfMemory reports whether a Go program that ran out of memory or stack ends with this exit code.
func isOutOfMemory(code int) bool { return code == runtimeDied }
