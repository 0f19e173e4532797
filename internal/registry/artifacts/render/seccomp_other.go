//go:build unix && !(linux && (amd64 || arm64))

package render

// filterSystemCalls does nothing on platforms without such a filter.
func filterSystemCalls() error { return nil }
