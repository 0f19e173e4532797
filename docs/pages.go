// Package docs has the pages of the documentation, for tests that compare them with the code.
package docs

import "embed"

// Pages are all pages, by their file names.
//
//go:embed *.md
var Pages embed.FS
