//go:build !race

package artifacts

// diedOfIt tells whether this is the exit code of a Go program that ran out of memory or stack.
func diedOfIt(code int) bool { return code == runtimeDied }
