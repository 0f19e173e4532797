package main

import "time"

const (
	// repository is the import path of this repository's Go module. With https:// it is the repository's URL.
	repository = "github.com/kyma-project/lifecycle-manager"
	license    = "Apache-2.0"
	// unknownCommit is the default commit of a build.
	unknownCommit = "unknown"
)

// release describes the origin of an image.
type release struct {
	version, commit string
	// created is the time of the commit. The time of the build would change the digest with each build.
	created time.Time
	fips    bool
}

// tag returns the tag of the image.
func (r release) tag() string {
	if r.fips {
		return r.version + "-fips"
	}
	return r.version
}
