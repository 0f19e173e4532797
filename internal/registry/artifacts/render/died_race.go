//go:build race

package render

// sanitizerDied is the exit code if the race detector runs out of memory or stack before the runtime does.
const sanitizerDied = 66

// isOutOfMemory reports whether a Go program that ran out of memory or stack ends with this exit code.
func isOutOfMemory(code int) bool { return code == runtimeDied || code == sanitizerDied }
