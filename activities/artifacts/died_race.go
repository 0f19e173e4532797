//go:build race

package artifacts

// sanitizerDied is the exit code where the race detector ran out of memory or stack before the runtime did.
const sanitizerDied = 66

// diedOfIt tells whether this is the exit code of a Go program that ran out of memory or stack.
func diedOfIt(code int) bool { return code == runtimeDied || code == sanitizerDied }
