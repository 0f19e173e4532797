package main

import (
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push pushes the index under its tag and the SBOMs under their digests. It uses the credentials in the Docker
// configuration. If a registry does not support the referrers API, the SBOMs get tags that are named after the digests
// of the images, as the OCI distribution specification defines.
func (b *built) push(ctx context.Context, target name.Tag, out io.Writer) error {
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	for _, each := range b.platforms {
		// Push the SBOM before the tag, so that everyone who sees the image finds its SBOM. A registry accepts it
		// before its image.
		digest, err := each.sbom.Digest()
		if err != nil {
			return fmt.Errorf("compute the digest of the SBOM for %s: %w", each.platform, err)
		}
		if err := remote.Write(target.Context().Digest(digest.String()), each.sbom, options...); err != nil {
			return fmt.Errorf("push the SBOM for %s to %s: %w", each.platform, target.Context(), err)
		}
	}
	if err := remote.WriteIndex(target, b.index, options...); err != nil {
		return fmt.Errorf("push %s: %w", target, err)
	}
	digest, err := b.index.Digest()
	if err != nil {
		return fmt.Errorf("compute the digest of the index: %w", err)
	}
	_, err = fmt.Fprintf(out, "pushed %s@%s\n", target, digest)
	return err
}
