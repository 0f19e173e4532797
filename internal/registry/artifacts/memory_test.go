//go:build !race

package artifacts

// smallRenderBytes is little memory for a renderer.
const smallRenderBytes = 192 << 20
