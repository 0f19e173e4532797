//go:build race

package artifacts

// smallRenderBytes is a low memory limit for a renderer. The race detector multiplies the memory of a program.
const smallRenderBytes = 512 << 20
