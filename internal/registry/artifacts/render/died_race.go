//go:build race

package render

// sanitizerDied is the exit code where the race detector ran out of memory or stack before the runtime did.
const sanitizerDied = 66

// isOutOfMemory tells whether this is the exit code of a Go program that ran out of memory or stack.
func isOutOfMemory(code int) bool { return code == runtimeDied || code == sanitizerDied }
