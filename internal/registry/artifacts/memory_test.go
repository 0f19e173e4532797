//go:build !race

package artifacts

// smallRenderBytes is a low memory limit for a renderer.
const smallRenderBytes = 192 << 20
