//go:build unix && !(linux && (amd64 || arm64))

package render

// filterSystemCalls does nothing where there is no such filter.
func filterSystemCalls() error { return nil }
