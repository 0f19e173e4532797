package harness

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"
)

// Container is an image that was pulled from a registry and unpacked. What it runs has the image as its root, is the
// image's user, has the image's environment, and finds nothing that it may write to, temporary folders included.
//
// There is no container engine: what one would mount is there as far as Lifecycle Manager needs it, which is /dev/null
// and the path of its own program.
type Container struct {
	// Config is that of the image.
	Config v1.Config
	// Digest is that of the image for this machine's architecture.
	Digest v1.Hash

	t    testing.TB
	root string
}

// PullImage pulls the image of a reference for the architecture of this machine, and unpacks it.
func PullImage(t testing.TB, reference string) *Container {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	ref, err := name.ParseReference(reference)
	require.NoError(t, err)
	image, err := remote.Image(ref, remote.WithContext(t.Context()), remote.WithPlatform(v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}))
	require.NoError(t, err)
	file, err := image.ConfigFile()
	require.NoError(t, err)
	digest, err := image.Digest()
	require.NoError(t, err)
	c := &Container{Config: file.Config, Digest: digest, t: t, root: t.TempDir()}
	c.unpack(image)
	c.mount()
	return c
}

// unpack writes the files of an image below the root, with the owners that they have in it where this process may.
func (c *Container) unpack(image v1.Image) {
	c.t.Helper()
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(c.t, err)
		path := filepath.Join(c.root, filepath.FromSlash(header.Name))
		switch header.Typeflag {
		case tar.TypeDir:
			require.NoError(c.t, os.MkdirAll(path, 0o700))
		case tar.TypeReg:
			file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			require.NoError(c.t, err)
			_, err = io.Copy(file, reader)
			require.NoError(c.t, err)
			require.NoError(c.t, file.Close())
		default:
			c.t.Fatalf("%s in the image is neither a file nor a folder", header.Name)
		}
		if os.Getuid() == 0 {
			require.NoError(c.t, os.Chown(path, header.Uid, header.Gid))
		}
		// As with a root file system that is mounted read-only.
		require.NoError(c.t, os.Chmod(path, header.FileInfo().Mode().Perm()&^0o022))
	}
}

// mount puts in place what a container engine would mount.
func (c *Container) mount() {
	c.t.Helper()
	require.NoError(c.t, os.Chmod(c.root, 0o755))
	for _, folder := range []string{"dev", "proc/self"} {
		require.NoError(c.t, os.MkdirAll(filepath.Join(c.root, folder), 0o755))
	}
	null := filepath.Join(c.root, "dev", "null")
	require.NoError(c.t, os.WriteFile(null, nil, 0o600))
	require.NoError(c.t, os.Chmod(null, 0o666))
	require.NoError(c.t, os.Symlink(c.Config.Entrypoint[0], filepath.Join(c.root, "proc", "self", "exe")))
}

// Add mounts a file, and returns its path in the container.
func (c *Container) Add(path string) string {
	c.t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(c.t, err)
	mounted := "/mnt-" + filepath.Base(path)
	file := filepath.Join(c.root, mounted)
	require.NoError(c.t, os.WriteFile(file, content, 0o600))
	require.NoError(c.t, os.Chmod(file, 0o644))
	return mounted
}

// Command is what runs in the container with these arguments, and these variables besides the image's own. Where this
// process is not root, it is in a user namespace.
func (c *Container) Command(variables []string, args ...string) *exec.Cmd {
	c.t.Helper()
	user, group, found := strings.Cut(c.Config.User, ":")
	require.True(c.t, found, "the user of the image: %q", c.Config.User)
	uid, err := strconv.ParseUint(user, 10, 32)
	require.NoError(c.t, err)
	gid, err := strconv.ParseUint(group, 10, 32)
	require.NoError(c.t, err)
	command := append(append([]string{}, c.Config.Entrypoint...), args...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = "/"
	cmd.Env = append(append([]string{}, c.Config.Env...), variables...)
	cmd.SysProcAttr = inRoot(c.root, uint32(uid), uint32(gid))
	return cmd
}
