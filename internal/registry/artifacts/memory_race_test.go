//go:build race

package artifacts

// smallRenderBytes is little memory for a renderer. The race detector takes a multiple of what a program takes.
const smallRenderBytes = 512 << 20
