package main

import "time"

const (
	// repository is the import path of this repository's Go module, and without a scheme its address.
	repository = "github.com/kyma-project/lifecycle-manager"
	license    = "Apache-2.0"
	// unknownCommit is what a build says that was not told its commit.
	unknownCommit = "unknown"
)

// release is what an image says of where it comes from.
type release struct {
	version, commit string
	// created is the time of the commit rather than of the build, which would give each build another digest.
	created time.Time
	fips    bool
}

// tag is the name of the image in its layout.
func (r release) tag() string {
	if r.fips {
		return r.version + "-fips"
	}
	return r.version
}
